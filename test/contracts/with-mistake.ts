import { goodReceiver, type HandWrittenReceiver } from "./good-receiver.js";

/** Returns the good receiver with some parts replaced. */
export const bad = (mistake: Partial<HandWrittenReceiver>): HandWrittenReceiver => ({
  ...goodReceiver,
  ...mistake,
});

/** Creates a receiver that also accepts some deliveries that are not genuine. */
export const accepting = (
  isAccepted: HandWrittenReceiver["isGenuine"],
  finding?: string,
): HandWrittenReceiver =>
  bad({
    finding,
    isGenuine: (body, signature) =>
      goodReceiver.isGenuine(body, signature) || isAccepted(body, signature),
  });
