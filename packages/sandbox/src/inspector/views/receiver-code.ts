/** A receiver for somebody who has none yet. */
export const receiverCode = `import { createReceiver } from "@svc-webhooks/core";
import { webhooks } from "@svc-webhooks/express";
import express from "express";

const receiver = createReceiver({
  secret: process.env.SVC_WEBHOOK_SECRET ?? "",
  on: { "*": (event) => console.log(event.type) },
});

express().post("/webhooks", webhooks(receiver)).listen(3000);
`;

export const receiverCommands = `npm install @svc-webhooks/core @svc-webhooks/express express
SVC_WEBHOOK_SECRET=whsec_… node receiver.mjs
`;
