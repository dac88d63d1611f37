import { webhooks } from "@svc-webhooks/next";
import { contractReceiver } from "@svc-webhooks/testing";
import { touched, ways } from "../apps/before.ts";

/** All seven methods of a route whose last part says what is done to a request before. */
export function contractRoutes() {
  const handlers = new Map(ways.map((before) => [before, webhooks(contractReceiver())]));
  const handle = async (request, context) => {
    const { before } = await context.params;
    const handler = handlers.get(before)[request.method];
    return handler(await touched(request, before), context);
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
