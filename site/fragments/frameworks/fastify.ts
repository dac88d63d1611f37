import { moduleOf } from "../code.js";
import type { FrameworkFragment } from "../framework.js";

export const fastify: FrameworkFragment = {
  name: "fastify",
  title: "Fastify",
  mountedWith: "svc-webhooks/fastify",
  tested: ["Fastify", "5"],
  install: "svc-webhooks fastify    # fastify only if your app does not have it",
  module: (receiver) =>
    moduleOf(receiver, {
      imports: [
        'import { webhooks } from "svc-webhooks/fastify";',
        'import Fastify from "fastify";',
      ],
      before: "const app = Fastify({ logger: true });",
      log: "app.log.info",
      options: ["logger: app.log"],
      mount: `
        app.register(webhooks, { receiver, path: "${receiver.path}" });

        await app.listen({ port: 3000 });`,
    }),
};
