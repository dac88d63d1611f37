import type { Context } from "hono";

/** Whom to ask to wait for work that outlives the answer. Node, Bun and Deno wait unasked, and Hono throws there. */
export function executionOf(c: Context): Context["executionCtx"] | undefined {
  try {
    return c.executionCtx;
  } catch {
    return undefined;
  }
}
