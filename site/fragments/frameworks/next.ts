import { moduleOf, secretFunction } from "../code.js";
import type { FrameworkFragment } from "../framework.js";

export const next: FrameworkFragment = {
  name: "next",
  title: "Next.js",
  mountedWith: "svc-webhooks/next",
  tested: ["Next.js", "15", "16"],
  install: "svc-webhooks    # in a Next.js project",
  place: ({ path }) => `In the App Router, create \`app/api${path}/route.ts\`:`,
  module: (receiver) =>
    moduleOf(receiver, {
      imports: ['import { webhooks } from "svc-webhooks/next";'],
      secret: secretFunction,
      mount: `export const { ${receiver.takesGet ? "GET, " : ""}POST } = webhooks(receiver);`,
    }),
};
