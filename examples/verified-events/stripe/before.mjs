import express from "express";
import { Stripe } from "stripe";
import { effect } from "../effect.mjs";

const stripe = new Stripe(process.env.STRIPE_API_KEY);
const secret = process.env.STRIPE_WEBHOOK_SECRET;
const app = express();

app.post("/webhook", express.raw({ type: "application/json" }), async (request, response) => {
  let event;
  try {
    event = stripe.webhooks.constructEvent(
      request.body,
      request.headers["stripe-signature"],
      secret,
    );
  } catch (error) {
    return response.status(400).send(error.message);
  }
  await handle(event);
  response.json({ received: true });
});

async function handle(event) {
  switch (event.type) {
    case "invoice.paid":
      await effect(event.id);
      break;
    default:
      console.log(`${event.type} is not handled.`);
  }
}

app.listen(process.env.PORT ?? 3000);
