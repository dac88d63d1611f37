import { moduleOf } from "../code.js";
import type { FrameworkFragment } from "../framework.js";

export const h3: FrameworkFragment = {
  name: "h3",
  title: "h3",
  mountedWith: "receiver.fetch",
  tested: ["h3", "2"],
  install: "svc-webhooks h3    # h3 only if your app does not have it",
  module: (receiver) =>
    moduleOf(receiver, {
      imports: ['import { fromWebHandler, H3, serve } from "h3";'],
      mount: `
        const app = new H3();

        app.${receiver.takesGet ? "all" : "post"}("${receiver.path}", fromWebHandler((request) => receiver.fetch(request)));
        serve(app, { port: 3000 });`,
    }),
};
