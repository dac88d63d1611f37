import { createReceiver } from "@svc-webhooks/core";
import { receiverByHand } from "./byhand/receive.js";
import type { MakeReceiver } from "./check-receiver.js";
import { eventType, secret } from "./deliveries.js";

export const ours: MakeReceiver = (handle) => {
  const { receive } = createReceiver({
    secret,
    on: { [eventType]: handle },
    onHandlerError: () => {},
  });
  return async (delivery) => (await receive({ method: "POST", ...delivery })).status;
};

export const byHand: MakeReceiver = (handle) => {
  const receive = receiverByHand({ secret, on: { [eventType]: handle } });
  return ({ headers, body }) => receive(headers, body);
};
