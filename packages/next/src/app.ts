import { answer, type Receiver } from "@svc-webhooks/core";
import { assertReceiver, toDelivery, toResponse } from "@svc-webhooks/core/adapter";
import * as server from "next/server.js";
import { ifCut } from "./if-cut.js";

const fix = `let nothing read the request before webhooks(); ${ifCut}`;

/** A route handler of the App Router. It ignores the context that Next.js passes as the second argument. */
export type RouteHandler = (request: Request, context?: unknown) => Promise<Response>;

/** One handler for each method that Next.js supports in a route module. */
export type RouteHandlers = Readonly<
  Record<"GET" | "HEAD" | "POST" | "PUT" | "PATCH" | "DELETE" | "OPTIONS", RouteHandler>
>;

/**
 * Mounts a receiver in the App Router, on the Node and the edge runtime: `export const { POST } = webhooks(receiver)`
 * in a `route.ts`. Next.js itself responds to methods that are not exported: 405, or 204 for OPTIONS. To send the
 * receiver's response instead, export these methods too.
 *
 * @throws ConfigError `invalid_option` if `receiver` is not a receiver
 *
 * @example
 * ```ts
 * // app/webhooks/route.ts
 * import { createReceiver } from "svc-webhooks";
 * import { webhooks } from "svc-webhooks/next";
 *
 * const receiver = createReceiver({
 *   secret: () => process.env.SVC_WEBHOOK_SECRET ?? "",
 *   on: { "*": (event) => console.log(event.type) },
 * });
 *
 * export const { POST } = webhooks(receiver);
 * ```
 */
export function webhooks(receiver: Pick<Receiver, "receive">): RouteHandlers {
  assertReceiver(receiver);
  const handle: RouteHandler = async (request) => {
    const outcome = await receiver.receive({ ...toDelivery(request), fix }, { waitUntil });
    return toResponse(request, answer(outcome));
  };
  return {
    GET: handle,
    HEAD: handle,
    POST: handle,
    PUT: handle,
    PATCH: handle,
    DELETE: handle,
    OPTIONS: handle,
  };
}

function waitUntil(work: Promise<unknown>): void {
  try {
    server.after(work);
  } catch {
    // `after` throws outside a Next.js server, for example in a test. There, no platform suspends the process after the
    // response.
  }
}
