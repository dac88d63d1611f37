import { answer } from "@svc-webhooks/core";
import { toDelivery, toResponse } from "@svc-webhooks/core/adapter";
import type { Context } from "hono";
import { builtOnDemand } from "./built-on-demand.js";
import { executionOf } from "./execution.js";
import { checked, type Mounted } from "./mounted.js";

export type { Mounted } from "./mounted.js";

const fix =
  "mount webhooks() before middleware that reads the body, or make the middleware read it with c.req.arrayBuffer()";

/**
 * Mounts a receiver in Hono: `app.post("/webhooks", webhooks(receiver))`. The handler responds to every request and
 * never calls `next()`.
 *
 * If bindings are available only per request, as on Cloudflare Workers, pass a function: `webhooks((c) =>
 * createReceiver({ secret: c.env.SECRET, … }))`. It is called once, synchronously, on the first POST without
 * compression whose `X-SVC-Signature`, if any, is well-formed, and the receiver that it returns is reused. If it
 * throws, the outcome is `misconfigured`, the body stays unread, and the next such delivery calls the function again.
 * Other requests are rejected, and the function is not called.
 *
 * @throws ConfigError `invalid_option` if `source` is neither a receiver nor a function
 *
 * @example
 * ```ts
 * import { createReceiver } from "svc-webhooks";
 * import { webhooks } from "svc-webhooks/hono";
 * import { Hono } from "hono";
 *
 * const receiver = createReceiver({
 *   secret: process.env.SVC_WEBHOOK_SECRET ?? "",
 *   on: { "*": (event) => console.log(event.type) },
 * });
 *
 * const app = new Hono();
 * app.post("/webhooks", webhooks(receiver));
 *
 * export default app;
 * ```
 */
export function webhooks<Source>(source: Source): Mounted<Source> {
  const receiver = typeof source === "function" ? undefined : checked(source);
  const receiverOf = receiver ? () => receiver : builtOnDemand(source as (c: Context) => unknown);
  const handle = async (c: Context) => {
    const delivery = toDelivery(c.req.raw);
    // Middleware may have read the body already. Only these two caches keep the exact bytes; text and JSON are decoded.
    const { arrayBuffer, blob } = c.req.bodyCache;
    const kept = async () => new Uint8Array(await c.req.arrayBuffer());
    const body = arrayBuffer || blob ? kept : delivery.body;
    const outcome = await receiverOf(c).receive({ ...delivery, body, fix }, executionOf(c));
    return toResponse(c.req.raw, answer(outcome));
  };
  return handle as Mounted<Source>;
}
