import { createReceiver } from "@svc-webhooks/core";
import { webhooks } from "@svc-webhooks/hono";
import { Hono } from "hono";

let finished = false;

/** The handler outlives the response. Whether it finishes depends only on `waitUntil`. */
const receiver = createReceiver({
  secret: "whsec_test",
  handlerTimeoutMs: 1,
  maxBodyBytes: 1_000,
  on: {
    async "*"() {
      await new Promise((resolve) => setTimeout(resolve, 100));
      finished = true;
    },
  },
});

export default new Hono()
  .post("/webhooks", webhooks(receiver))
  .get("/finished", (c) => c.json(finished));
