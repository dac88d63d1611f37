import { moduleOf } from "../code.js";
import type { FrameworkFragment } from "../framework.js";

export const koa: FrameworkFragment = {
  name: "koa",
  title: "Koa",
  mountedWith: "svc-webhooks/node",
  tested: ["Koa", "3"],
  install: "svc-webhooks koa    # koa only if your app does not have it",
  module: (receiver) =>
    moduleOf(receiver, {
      imports: ['import { webhooks } from "svc-webhooks/node";', 'import Koa from "koa";'],
      mount: `
        const handle = webhooks(receiver);
        const app = new Koa();

        app.use((ctx, next) => {
          if (ctx.path !== "${receiver.path}") return next();
          return handle(ctx.req, ctx.res);
        }); // then body parsers

        app.listen(3000);`,
    }),
};
