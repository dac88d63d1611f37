import type { Receiver } from "@svc-webhooks/core";
import { webhooks as nodeWebhooks, type NodeHandler } from "@svc-webhooks/node";
import { ifCut } from "./if-cut.js";

export type { NodeHandler } from "@svc-webhooks/node";

/**
 * Mounts a receiver in the Pages Router: `export default webhooks(receiver)` in `pages/api/…`. The
 * page itself must also contain `export const config = { api: { bodyParser: false } }`: Next.js rejects
 * a re-export.
 *
 * @throws ConfigError `invalid_option` if `receiver` is not a receiver
 *
 * @example
 * ```ts
 * // pages/api/webhooks.ts
 * import { createReceiver } from "svc-webhooks";
 * import { webhooks } from "svc-webhooks/next/pages";
 *
 * const receiver = createReceiver({
 *   secret: () => process.env.SVC_WEBHOOK_SECRET ?? "",
 *   on: { "*": (event) => console.log(event.type) },
 * });
 *
 * export const config = { api: { bodyParser: false } };
 *
 * export default webhooks(receiver);
 * ```
 */
export const webhooks = (receiver: Pick<Receiver, "receive">): NodeHandler =>
  nodeWebhooks(receiver, {
    fix: `export const config = { api: { bodyParser: false } } from the page itself; ${ifCut}`,
  });
