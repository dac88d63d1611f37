import { moduleOf } from "../code.js";
import type { FrameworkFragment } from "../framework.js";

export const hono: FrameworkFragment = {
  name: "hono",
  title: "Hono",
  mountedWith: "svc-webhooks/hono",
  tested: ["Hono", "4"],
  install: "svc-webhooks hono    # hono only if your app does not have it",
  module: (receiver) =>
    moduleOf(receiver, {
      imports: ['import { webhooks } from "svc-webhooks/hono";', 'import { Hono } from "hono";'],
      mount: `
        const app = new Hono();
        app.${receiver.takesGet ? "all" : "post"}("${receiver.path}", webhooks(receiver));

        export default app;`,
    }),
};
