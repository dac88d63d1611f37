import { moduleOf } from "../code.js";
import type { FrameworkFragment } from "../framework.js";

export const googleCloudFunctions: FrameworkFragment = {
  name: "google-cloud-functions",
  title: "Google Cloud Functions",
  mountedWith: "svc-webhooks/node",
  tested: ["the Functions Framework", "5"],
  install: "svc-webhooks @google-cloud/functions-framework",
  module: (receiver) =>
    moduleOf(receiver, {
      imports: [
        'import { http } from "@google-cloud/functions-framework";',
        'import { webhooks } from "svc-webhooks/node";',
      ],
      mount: `http("webhooks", webhooks(receiver));`,
    }),
};
