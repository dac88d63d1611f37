import { goodReceiver, type HandWrittenReceiver } from "./good-receiver.js";

/** The good receiver with some parts replaced. */
export const bad = (mistake: Partial<HandWrittenReceiver>): HandWrittenReceiver => ({
  ...goodReceiver,
  ...mistake,
});

/** Accepts some deliveries that are not genuine. */
export const accepting = (isAccepted: HandWrittenReceiver["isGenuine"]): HandWrittenReceiver =>
  bad({
    isGenuine: (body, signature) =>
      goodReceiver.isGenuine(body, signature) || isAccepted(body, signature),
  });
