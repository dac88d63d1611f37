import type { Context } from "hono";

/** Whom to ask to wait for work that outlives the answer. Node, Bun and Deno wait unasked, and Hono throws there. */
export function executionOf(c: Context): Context["executionCtx"] | undefined {
  // The binding of @hono/node-server. Asking there would throw, which takes a third of the time of a delivery.
  if ((c.env as { readonly incoming?: unknown } | undefined)?.incoming) return undefined;
  try {
    return c.executionCtx;
  } catch {
    return undefined;
  }
}
