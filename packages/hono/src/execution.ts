import type { Context } from "hono";

/** The bindings of @hono/node-server 1.x and 2.x: `incoming` is an IncomingMessage or an Http2ServerRequest. */
interface NodeBindings {
  readonly incoming?: { readonly httpVersion?: unknown };
}

/**
 * Returns the execution context, which keeps work alive after the response. Node, Bun and Deno have none, and Hono's
 * getter throws there.
 */
export function executionOf(c: Context): Context["executionCtx"] | undefined {
  // Node is detected first, because the exception would take a third of a delivery's time. `httpVersion` must
  // be a string: a Worker's binding may be named `incoming` too, and a service binding returns a function for every
  // property.
  const { incoming } = (c.env ?? {}) as NodeBindings;
  if (typeof incoming?.httpVersion === "string") return undefined;
  try {
    return c.executionCtx;
  } catch {
    return undefined;
  }
}
