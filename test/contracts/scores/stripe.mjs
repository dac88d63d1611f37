// Express with the library stripe, in the manner of Stripe's documentation.
import express from "express";
import { Stripe } from "stripe";
import { handle, port, secret } from "./handler.mjs";

const stripe = new Stripe("sk_test_unused");

express()
  .post("/webhooks", express.raw({ type: "application/json" }), async (request, response) => {
    let event;
    try {
      event = stripe.webhooks.constructEvent(
        request.body,
        request.headers["stripe-signature"],
        secret,
      );
    } catch (error) {
      response.status(400).send(`Webhook Error: ${error.message}`);
      return;
    }
    await handle(event);
    response.json({ received: true });
  })
  .listen(port, "127.0.0.1");
