import { answer, createReceiver, toDelivery, toResponse, type Receiver } from "@svc-webhooks/core";
import type { Context, Handler } from "hono";
import type { Mounted } from "./mounted.js";

export type { Mounted } from "./mounted.js";

const fix =
  "mount webhooks() before what reads the body, or let that read it with c.req.arrayBuffer()";

/**
 * Mounts a receiver in Hono: `app.post("/webhooks", webhooks(receiver))`. Answers every request
 * itself and never calls `next()`.
 *
 * Where bindings exist only per request, give a function: `webhooks((c) => createReceiver({ secret:
 * c.env.SECRET, … }))`. It is called once, on the first delivery, and what it returns is kept. While
 * it throws, genuine deliveries end as `misconfigured` and each one calls it again.
 */
export function webhooks<Source>(source: Source): Mounted<Source> {
  const make = source as Receiver | ((c: Context) => Receiver);
  let receiver = typeof make === "function" ? undefined : make;
  const receiverOf = (c: Context) => {
    try {
      return (receiver ??= (make as (c: Context) => Receiver)(c));
    } catch (error) {
      // Through the same pipeline: strangers learn nothing, and the operator gets the one printed line.
      return createReceiver({ secret: () => Promise.reject(error), on: { "*": () => {} } });
    }
  };
  const handle: Handler = async (c) => {
    const delivery = toDelivery(c.req.raw);
    // What was read as text or JSON is no longer what was sent; these two are.
    const { arrayBuffer, blob } = c.req.bodyCache;
    const body = arrayBuffer || blob ? new Uint8Array(await c.req.arrayBuffer()) : delivery.body;
    const outcome = await receiverOf(c).receive({ ...delivery, body, fix }, executionOf(c));
    return toResponse(c.req.raw, answer(outcome));
  };
  return handle as Mounted<Source>;
}

/** Whom to ask to wait for work that outlives the answer. Node, Bun and Deno wait unasked, and Hono throws there. */
function executionOf(c: Context) {
  try {
    return c.executionCtx;
  } catch {
    return undefined;
  }
}
