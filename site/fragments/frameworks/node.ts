import { moduleOf } from "../code.js";
import type { FrameworkFragment } from "../framework.js";

export const node: FrameworkFragment = {
  name: "node",
  title: "node:http",
  mountedWith: "svc-webhooks/node",
  tested: ["Node", "20", "22", "24", "26"],
  install: "svc-webhooks",
  module: (receiver) =>
    moduleOf(receiver, {
      imports: [
        'import { createServer } from "node:http";',
        'import { webhooks } from "svc-webhooks/node";',
      ],
      mount: "createServer(webhooks(receiver)).listen(3000);",
    }),
};
