import type { Program } from "../program.js";
import { preloading } from "./preload.js";

export const sqs: Program = {
  folder: "sqs",
  secret: "",
  environment: () => preloading("lambda.mjs"),
  sign: (id) => ({
    path: "/",
    body: JSON.stringify({
      // A publisher that sends an event again makes another message.
      Records: [
        { messageId: crypto.randomUUID(), body: JSON.stringify({ id, type: "order.paid" }) },
      ],
    }),
    headers: { "content-type": "application/json" },
  }),
  before: { failure: 1, crash: 1 },
};
