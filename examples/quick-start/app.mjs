import { createReceiver } from "svc-webhooks";
import { emailEvents } from "svc-webhooks/events";
import { webhooks } from "svc-webhooks/express";
import express from "express";

const receiver = createReceiver({
  secret: process.env.SVC_WEBHOOK_SECRET ?? "",
  events: emailEvents,
  on: { "email.delivered": async (event) => console.log("delivered:", event.data?.email_id) },
});

express()
  .post("/webhooks", webhooks(receiver))
  .listen(process.env.PORT ?? 3000);
