import { moduleOf } from "../code.js";
import type { FrameworkFragment } from "../framework.js";

export const firebase: FrameworkFragment = {
  name: "firebase",
  title: "Firebase",
  mountedWith: "svc-webhooks/node",
  tested: ["firebase-functions", "7"],
  install: "svc-webhooks firebase-functions",
  module: (receiver) =>
    moduleOf(receiver, {
      imports: [
        'import { webhooks } from "svc-webhooks/node";',
        'import { onRequest } from "firebase-functions/https";',
        'import { defineSecret } from "firebase-functions/params";',
      ],
      before: `const signingSecret = defineSecret("${receiver.secretVariable}");`,
      secret: () => "() => signingSecret.value()",
      mount: "export const webhook = onRequest({ secrets: [signingSecret] }, webhooks(receiver));",
    }),
};
