// @hookflo/tern as its documentation mounts it, for GitHub.
import { createWebhookMiddleware } from "@hookflo/tern/express";
import express from "express";
import { handle, port, secret } from "./handler.mjs";

express()
  .post(
    "/webhooks",
    express.raw({ type: "*/*" }),
    createWebhookMiddleware({ platform: "github", secret }),
    async (request, response) => {
      await handle(request.webhook.payload);
      response.json({ received: true });
    },
  )
  .listen(port, "127.0.0.1");
