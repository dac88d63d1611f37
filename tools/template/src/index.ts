import type { Receiver } from "@svc-webhooks/core";
import { webhooks as nodeWebhooks, type NodeHandler } from "@svc-webhooks/node";

const fix = "Mount webhooks() before any body parser.";

/**
 * Mounts a receiver where handlers take the request and the response of `node:http`:
 * `server.on("request", webhooks(receiver))`. Responds to every request, whatever its method and
 * path. The handler never rejects.
 */
export const webhooks = (receiver: Pick<Receiver, "receive">): NodeHandler =>
  nodeWebhooks(receiver, { fix });
