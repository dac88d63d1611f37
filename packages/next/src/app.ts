import { answer, toDelivery, toResponse, type Receiver } from "@svc-webhooks/core";
import * as server from "next/server.js";
import { ifCut } from "./if-cut.js";

const fix = `let nothing read the request before webhooks(); ${ifCut}`;

/** A route handler of the App Router; what Next.js gives it beside the request is not looked at. */
export type RouteHandler = (request: Request, context?: unknown) => Promise<Response>;

/** The methods that Next.js looks for in a route module. */
export type RouteHandlers = Readonly<
  Record<"GET" | "HEAD" | "POST" | "PUT" | "PATCH" | "DELETE" | "OPTIONS", RouteHandler>
>;

/**
 * Mounts a receiver in the App Router, on the Node and the edge runtime: `export const { POST } =
 * webhooks(receiver)` in a `route.ts`. Next.js answers what is not exported itself, with a 405 of its
 * own; export the other methods too to have the receiver's.
 */
export function webhooks(receiver: Pick<Receiver, "receive">): RouteHandlers {
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
    // Called by something else than a Next.js server, such as a test: nothing will freeze the work.
  }
}
