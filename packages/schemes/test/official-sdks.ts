/*
 * Runs in a process of its own, on Node 22, next to the senders' packages that need it. Reads deliveries as JSON from
 * a file, and prints which of them the packages accept.
 */

/** The packages, at the versions that the tests install. */
export const packages = [
  "svix@2.5.0",
  "@slack/bolt@5.1.0",
  "@shopify/shopify-api@15.0.0",
  "@paddle/paddle-node-sdk@3.10.0",
  "@linear/sdk@98.0.0",
  "openai@7.57.0",
  "@clerk/backend@3.25.0",
  "@polar-sh/sdk@0.49.0",
  "replicate@1.4.0",
  "dodopayments@2.52.0",
  "@notionhq/client@5.26.0",
];

/** A module with `accepts`, by package, whose functions resolve to whether it accepts a delivery. */
export const program = `
import { readFileSync } from "node:fs";
import { Webhook } from "svix";
import { isValidSlackRequest } from "@slack/bolt";
import "@shopify/shopify-api/adapters/web-api";
import { ApiVersion, shopifyApi } from "@shopify/shopify-api";
import { Paddle } from "@paddle/paddle-node-sdk";
import { LinearWebhookClient } from "@linear/sdk/webhooks";
import OpenAI from "openai";
import { verifyWebhook } from "@clerk/backend/webhooks";
import { validateEvent, WebhookVerificationError } from "@polar-sh/sdk/webhooks";
import { validateWebhook } from "replicate";
import DodoPayments from "dodopayments";
import { signWebhookPayload, verifyWebhookSignature } from "@notionhq/client";

const requestOf = ({ headers, body }) => new Request("https://example.org", { method: "POST", headers, body });

const accepts = {
  async svix({ headers, body, secret }) {
    await new Webhook(secret).verify(body, headers);
    return true;
  },
  "@slack/bolt": ({ headers, body, secret }) =>
    isValidSlackRequest({
      signingSecret: secret,
      body,
      headers: { ...headers, "x-slack-request-timestamp": Number(headers["x-slack-request-timestamp"]) },
    }),
  async "@shopify/shopify-api"({ headers, body, secret }) {
    const shopify = shopifyApi({
      apiKey: "unused",
      apiSecretKey: secret,
      apiVersion: ApiVersion.July26,
      hostName: "example.org",
      isEmbeddedApp: false,
      logger: { log() {} },
    });
    const rawRequest = new Request("https://example.org/webhooks", {
      method: "POST",
      body,
      headers: { ...headers, "x-shopify-shop-domain": "a.myshopify.com", "x-shopify-api-version": "2026-07" },
    });
    return (await shopify.webhooks.validate({ rawBody: body, rawRequest })).valid;
  },
  "@paddle/paddle-node-sdk": ({ headers, body, secret }) =>
    new Paddle("unused").webhooks.isSignatureValid(body, secret, headers["paddle-signature"]),
  "@linear/sdk": ({ headers, body, secret }) =>
    new LinearWebhookClient(secret).verify(
      Buffer.from(body),
      headers["linear-signature"],
      JSON.parse(body).webhookTimestamp,
    ),
  async openai({ headers, body, secret }) {
    await new OpenAI({ apiKey: "unused" }).webhooks.verifySignature(body, headers, secret);
    return true;
  },
  async "@clerk/backend"(delivery) {
    await verifyWebhook(requestOf(delivery), { signingSecret: delivery.secret });
    return true;
  },
  "@polar-sh/sdk"({ headers, body, secret }) {
    try {
      validateEvent(body, headers, secret);
    } catch (error) {
      // The body is not one of Polar's events, which the package parses after it has verified the signature.
      if (error instanceof WebhookVerificationError) throw error;
    }
    return true;
  },
  replicate: ({ headers, body, secret }) =>
    validateWebhook({
      id: headers["webhook-id"],
      timestamp: headers["webhook-timestamp"],
      signature: headers["webhook-signature"],
      body,
      secret,
    }),
  dodopayments({ headers, body, secret }) {
    new DodoPayments({ bearerToken: "unused" }).webhooks.unwrap(body, { headers, key: secret });
    return true;
  },
  "@notionhq/client": ({ headers, body, secret }) =>
    verifyWebhookSignature({ body, signature: headers["x-notion-signature"], verificationToken: secret }),
};

const deliveries = JSON.parse(readFileSync(process.argv[2], "utf8"));
const found = {};
for (const [name, each] of Object.entries(deliveries)) {
  found[name] = [];
  for (const delivery of each) {
    try {
      found[name].push(await accepts[name](delivery));
    } catch (error) {
      found[name].push(false);
    }
  }
}
const [{ secret, body }] = deliveries.svix;
const at = new Date();
const signed = { id: "msg_1", seconds: Math.floor(at / 1000), signature: new Webhook(secret).sign("msg_1", at, body) };
const [notion] = deliveries["@notionhq/client"];
const notionSignature = await signWebhookPayload({ body: notion.body, verificationToken: notion.secret });
console.log(JSON.stringify({ found, signed, notionSignature }));
`;
