// An endpoint for Twilio's status callbacks: it verifies the signature and handles the new status of a message.
import express from "express";
import twilio from "twilio";
import { effect } from "../effect.mjs";

const { TWILIO_AUTH_TOKEN, PUBLIC_URL } = process.env;

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
  await handle(event);
  response.status(204).end();
});
app.listen(process.env.PORT ?? 3000);
