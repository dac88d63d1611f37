import { webhooks } from "@svc-webhooks/next";
import { contractReceiver } from "@svc-webhooks/testing/contract-receiver";
import { afterMiddleware, bodyMiddlewares } from "../apps/body-middlewares.ts";

/** Returns all seven methods of a route whose last segment selects the middleware. */
export function contractRoutes() {
  const handlers = new Map(
    bodyMiddlewares.map((middleware) => [middleware, webhooks(contractReceiver())]),
  );
  const handle = async (request, context) => {
    const { middleware } = await context.params;
    const handler = handlers.get(middleware)[request.method];
    return handler(await afterMiddleware(request, middleware), context);
  };
  const methods = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"];
  return Object.fromEntries(methods.map((method) => [method, handle]));
}
