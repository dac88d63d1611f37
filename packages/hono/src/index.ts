import { answer, toDelivery, toResponse } from "@svc-webhooks/core";
import type { Context } from "hono";
import { builtOnDemand } from "./built-on-demand.js";
import { executionOf } from "./execution.js";
import { checked, type Mounted } from "./mounted.js";

export type { Mounted } from "./mounted.js";

const fix =
  "mount webhooks() before what reads the body, or let that read it with c.req.arrayBuffer()";

/**
 * Mounts a receiver in Hono: `app.post("/webhooks", webhooks(receiver))`. Answers every request
 * itself and never calls `next()`.
 *
 * Where bindings exist only per request, give a function: `webhooks((c) => createReceiver({ secret:
 * c.env.SECRET, … }))`. It is called once, synchronously, on the first delivery whose signature header
 * is well-formed, and the receiver that it returns is kept. While it throws, such deliveries end as
 * `misconfigured` with their bodies unread, and each of them calls it again. Other requests are refused
 * without calling it.
 *
 * @throws TypeError if `source` is neither
 */
export function webhooks<Source>(source: Source): Mounted<Source> {
  const receiver = typeof source === "function" ? undefined : checked(source);
  const receiverOf = receiver ? () => receiver : builtOnDemand(source as (c: Context) => unknown);
  const handle = async (c: Context) => {
    const delivery = toDelivery(c.req.raw);
    // What was read as text or JSON is no longer what was sent; these two are.
    const { arrayBuffer, blob } = c.req.bodyCache;
    const kept = async () => new Uint8Array(await c.req.arrayBuffer());
    const body = arrayBuffer || blob ? kept : delivery.body;
    const outcome = await receiverOf(c).receive({ ...delivery, body, fix }, executionOf(c));
    return toResponse(c.req.raw, answer(outcome));
  };
  return handle as Mounted<Source>;
}
