import { webhooks } from "@svc-webhooks/hono";
import { contractReceiver, type Before } from "@svc-webhooks/testing";
import { Hono, type Context, type MiddlewareHandler } from "hono";
import { bodyLimit } from "hono/body-limit";
import { cut, ways } from "./before.js";

const readBefore: Readonly<Record<Before, (c: Context) => unknown>> = {
  nothing: () => {},
  parser: (c) => c.req.json(),
  keeper: (c) => c.req.arrayBuffer(),
  async cutter(c) {
    c.req.raw = await cut(c.req.raw);
  },
};

const reading =
  (before: Before): MiddlewareHandler =>
  async (c, next) => {
    await readBefore[before](c);
    await next();
  };

export const honoApp = new Hono();
honoApp.use(bodyLimit({ maxSize: 1_000_000 }));
for (const before of ways) {
  honoApp.all(`/Hono/${before}`, reading(before), webhooks(contractReceiver()));
}
