import { answer, createReceiver, toDelivery, toResponse, type Receiver } from "@svc-webhooks/core";
import type { Context, Env, Handler } from "hono";

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
export function webhooks<E extends Env = Env>(
  source: Receiver | ((c: Context<E>) => Receiver),
): Handler<E> {
  let receiver = typeof source === "function" ? undefined : source;
  const receiverOf = (c: Context<E>) => {
    try {
      return (receiver ??= (source as (c: Context<E>) => Receiver)(c));
    } catch (error) {
      // Through the same pipeline: strangers learn nothing, and the operator gets the one printed line.
      return createReceiver({ secret: () => Promise.reject(error), on: { "*": () => {} } });
    }
  };
  return async (c) => {
    const delivery = toDelivery(c.req.raw);
    // What was read as text or JSON is no longer what was sent; these two are.
    const { arrayBuffer, blob } = c.req.bodyCache;
    const body = arrayBuffer || blob ? new Uint8Array(await c.req.arrayBuffer()) : delivery.body;
    const outcome = await receiverOf(c).receive({ ...delivery, body, fix }, waiting(c));
    return toResponse(c.req.raw, answer(outcome));
  };
}

/** How the platform is asked to wait for work that outlives the answer; Node, Bun and Deno need not be asked. */
function waiting(c: Context) {
  try {
    const context = c.executionCtx;
    return { waitUntil: (work: Promise<unknown>) => context.waitUntil(work) };
  } catch {
    return {};
  }
}
