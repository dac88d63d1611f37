import { webhooks } from "@svc-webhooks/hono";
import type { BodyMiddleware } from "@svc-webhooks/testing/adapter";
import { contractReceiver } from "@svc-webhooks/testing/contract-receiver";
import { Hono, type Context, type MiddlewareHandler } from "hono";
import { bodyLimit } from "hono/body-limit";
import { bodyMiddlewares, truncated } from "./body-middlewares.js";

const works: Readonly<Record<BodyMiddleware, (c: Context) => unknown>> = {
  none: () => {},
  parses: (c) => c.req.json(),
  buffers: (c) => c.req.arrayBuffer(),
  async truncates(c) {
    c.req.raw = await truncated(c.req.raw);
  },
};

const handlerOf =
  (middleware: BodyMiddleware): MiddlewareHandler =>
  async (c, next) => {
    await works[middleware](c);
    await next();
  };

export const honoApp = new Hono();
honoApp.use(bodyLimit({ maxSize: 1_000_000 }));
for (const middleware of bodyMiddlewares) {
  honoApp.all(`/Hono/${middleware}`, handlerOf(middleware), webhooks(contractReceiver()));
}
