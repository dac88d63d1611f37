import type { Context } from "hono";

/** The bindings that @hono/node-server passes, 1.x and 2.x: an IncomingMessage or an Http2ServerRequest. */
interface NodeBindings {
  readonly incoming?: { readonly httpVersion?: unknown };
}

/**
 * The execution context that waits for work which outlives the response. Node, Bun and Deno need none,
 * and Hono throws there.
 */
export function executionOf(c: Context): Context["executionCtx"] | undefined {
  // Hono's throw takes a third of the time of a delivery. By a text, not by presence: a Worker's binding
  // may be named `incoming`, and a service binding has every property that it is asked for, as a function.
  const { incoming } = (c.env ?? {}) as NodeBindings;
  if (typeof incoming?.httpVersion === "string") return undefined;
  try {
    return c.executionCtx;
  } catch {
    return undefined;
  }
}
