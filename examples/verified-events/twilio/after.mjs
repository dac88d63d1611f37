// An endpoint for Twilio's status callbacks: it verifies the signature and handles the new status of a message.
import express from "express";
import { createGuard } from "svc-webhooks";
import twilio from "twilio";
import { effect } from "../effect.mjs";
import { store } from "../store.mjs";

const { TWILIO_AUTH_TOKEN, PUBLIC_URL } = process.env;
const guard = createGuard({ name: "twilio", store, sources: ["twilio"], leaseMs: 10_000 });

/** Returns whether Twilio has signed the form, for the address under which Twilio knows this server. */
const isFromTwilio = (request) =>
  twilio.validateRequest(
    TWILIO_AUTH_TOKEN,
    request.get("x-twilio-signature") ?? "",
    PUBLIC_URL + request.originalUrl,
    request.body ?? {},
  );

async function handle({ MessageSid, MessageStatus }) {
  if (MessageStatus === "delivered") await effect(MessageSid);
}

const app = express();
app.post("/status", express.urlencoded({ extended: false }), async (request, response) => {
  if (!isFromTwilio(request)) return response.status(403).end();
  const { MessageSid, MessageStatus } = request.body;
  // Each status of a message is an event of its own.
  const event = { ...request.body, id: `${MessageSid}-${MessageStatus}` };
  const { status } = await guard.run({ source: "twilio", id: event.id, body: event }, handle);
  response.status(status).end();
});
app.listen(process.env.PORT ?? 3000);
