import { Stripe } from "stripe";
import type { Program } from "../program.js";

const { webhooks } = new Stripe("sk_test_example");

export const stripe: Program = {
  folder: "stripe",
  secret: "whsec_example",
  wrongSecret: "whsec_wrong",
  environment: () => ({
    STRIPE_API_KEY: "sk_test_example",
    STRIPE_WEBHOOK_SECRET: "whsec_example",
  }),
  sign(id, secret) {
    const event = { id, object: "event", type: "invoice.paid", data: { object: { id: "in_1" } } };
    const body = JSON.stringify(event);
    return {
      path: "/webhook",
      body,
      headers: {
        "content-type": "application/json",
        "stripe-signature": webhooks.generateTestHeaderString({ payload: body, secret }),
      },
    };
  },
  before: { failure: 1, crash: 1 },
};
