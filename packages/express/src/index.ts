import type { Receiver } from "@svc-webhooks/core";
import { webhooks as nodeWebhooks, type NodeHandler } from "@svc-webhooks/node";

export type { NodeHandler } from "@svc-webhooks/node";

const fix =
  "mount webhooks() before express.json() and other body parsers, or let the parser keep the bytes: " +
  "express.json({ verify: (req, _res, bytes) => { req.rawBody = bytes; } })";

/**
 * Mounts a receiver in Express 4 or 5: `app.post("/webhooks", webhooks(receiver))`. Reads the bytes
 * from `req.body` (`express.raw()`), `req.rawBody` or the unread stream, responds to every request and
 * never calls `next()`.
 *
 * @throws ConfigError `invalid_option` if `receiver` is not a receiver
 *
 * @example
 * ```ts
 * import { createReceiver } from "svc-webhooks";
 * import { webhooks } from "svc-webhooks/express";
 * import express from "express";
 *
 * const receiver = createReceiver({
 *   secret: process.env.SVC_WEBHOOK_SECRET ?? "",
 *   on: { "*": (event) => console.log(event.type) },
 * });
 *
 * const app = express();
 * app.post("/webhooks", webhooks(receiver));
 * app.use(express.json());
 * app.listen(3000);
 * ```
 */
export const webhooks: (
  receiver: Pick<Receiver, "receive">,
  // Without this parameter, `app.post(path, webhooks)` would compile, because `webhooks` would match the type of an
  // Express error handler.
  nothing?: undefined,
) => NodeHandler = (receiver) => nodeWebhooks(receiver, { fix });
