import type { BodyMiddleware } from "@svc-webhooks/testing/adapter";
import { contractReceiver } from "@svc-webhooks/testing/contract-receiver";
import { afterMiddleware, bodyMiddlewares } from "./body-middlewares.js";

const receivers = new Map(bodyMiddlewares.map((middleware) => [middleware, contractReceiver()]));

/** Runs a receiver without an adapter, like a module that exports its `fetch`. */
export async function fetchApp(
  request: Request,
  env: unknown,
  context: { waitUntil?(work: Promise<unknown>): void } | undefined,
): Promise<Response> {
  const middleware = new URL(request.url).pathname.split("/").at(-1) as BodyMiddleware;
  const receiver = receivers.get(middleware);
  if (!receiver) return new Response(null, { status: 404 });
  return receiver.fetch(await afterMiddleware(request, middleware), env, context);
}
