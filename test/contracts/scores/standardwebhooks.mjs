// Express with the library standardwebhooks, in the manner of its README.
import express from "express";
import { Webhook } from "standardwebhooks";
import { handle, port, secret } from "./handler.mjs";

const webhook = new Webhook(secret);

express()
  .post("/webhooks", express.raw({ type: "application/json" }), async (request, response) => {
    let event;
    try {
      event = webhook.verify(request.body, request.headers);
    } catch {
      response.status(400).json({});
      return;
    }
    await handle(event);
    response.json({});
  })
  .listen(port, "127.0.0.1");
