import { moduleOf } from "../code.js";
import type { FrameworkFragment } from "../framework.js";

export const express: FrameworkFragment = {
  name: "express",
  title: "Express",
  mountedWith: "svc-webhooks/express",
  tested: ["Express", "4", "5"],
  install: "svc-webhooks express    # express only if your app does not have it",
  module: (receiver) =>
    moduleOf(receiver, {
      imports: [
        'import { webhooks } from "svc-webhooks/express";',
        'import express from "express";',
      ],
      mount: `
        const app = express();
        app.${receiver.takesGet ? "all" : "post"}("${receiver.path}", webhooks(receiver)); // before express.json()
        app.use(express.json());
        app.listen(3000);`,
    }),
};
