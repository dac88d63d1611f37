import { createReceiver } from "@svc-webhooks/core";
import { webhooks } from "@svc-webhooks/node";
import { createNodeMiddleware, Webhooks } from "@octokit/webhooks";
import { webhooksByHand } from "../byhand/node.js";
import { eventType, secret } from "../deliveries.js";
import type { Group } from "./contender.js";

export const node: Group = {
  title: "node:http",
  contenders: [
    {
      name: "by hand",
      lacks: [],
      mount: (handle) => webhooksByHand({ secret, on: { [eventType]: handle } }),
    },
    {
      name: "svc-webhooks",
      lacks: [],
      mount: (handle) => webhooks(createReceiver({ secret, on: { [eventType]: handle } })),
    },
    {
      name: "@octokit/webhooks",
      lacks: ["duplicates", "body limit"],
      mount(handle) {
        const receiver = new Webhooks({ secret });
        receiver.on("push", ({ payload }) => handle(payload));
        return createNodeMiddleware(receiver, { path: "/webhooks" });
      },
    },
  ],
  bars: [
    { lane: "svc-webhooks", against: "by hand", atLeast: 0.75, aim: 0.85 },
    {
      lane: "svc-webhooks",
      against: "@octokit/webhooks",
      atLeast: 0.95,
      aim: 1.05,
      limit:
        "it remembers nothing: a record's key, its claim and its completion are some 3 µs of 34, and " +
        "what the record costs the garbage collector comes on top.",
    },
  ],
};
