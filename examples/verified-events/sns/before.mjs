// An HTTPS subscription of an SNS topic: it verifies the message, confirms the subscription, and handles notifications.
import express from "express";
import { effect } from "../effect.mjs";
import { snsVerifier } from "./verify.mjs";

const verified = snsVerifier(process.env.TOPIC_ARN);

const handle = (order) => effect(order.id);

const app = express();
// SNS sends JSON as text/plain. A message has at most 256 KiB, and more as JSON text.
app.post("/sns", express.text({ type: "*/*", limit: "1mb" }), async (request, response) => {
  const message = await verified(request.body);
  if (!message) return response.status(403).end();
  if (message.Type === "SubscriptionConfirmation") {
    await fetch(message.SubscribeURL, { signal: AbortSignal.timeout(5_000) });
    return response.status(204).end();
  }
  // Prefers the publisher's own id of the event, because a repeated publication is another message.
  const event = { id: message.MessageId, ...JSON.parse(message.Message) };
  await handle(event);
  response.status(204).end();
});
app.listen(process.env.PORT ?? 3000);
