import { createHmac } from "node:crypto";
import { WebhookVerificationService } from "@hookflo/tern";
import * as octokit from "@octokit/webhooks-methods";
import { Webhook as StandardWebhook } from "standardwebhooks";
import { Stripe } from "stripe";
import { Webhook as SvixWebhook } from "svix";
import { signatureOf } from "../deliveries.js";
import type { Verifier } from "./verifier.js";

/** The same scheme as ours; takes text, so turning the bytes into it is part of the work. */
export const octokitMethods: Verifier = {
  name: "@octokit/webhooks-methods",
  prepare(genuine, secret) {
    const signature = signatureOf(genuine, secret);
    return (body) => octokit.verify(secret, body.toString(), signature);
  },
};

/** Standard Webhooks sign id and time with the body, so both peers hash some 40 bytes more. */
function standardHeaders(genuine: Buffer, secret: string): Record<string, string> {
  const id = "msg_2KWPBgLlAfxdpx2AI54pPJ85f4W";
  const seconds = Math.floor(Date.now() / 1_000);
  const key = Buffer.from(secret);
  const signature = createHmac("sha256", key).update(`${id}.${seconds}.`).update(genuine);
  return {
    "webhook-id": id,
    "webhook-timestamp": String(seconds),
    "webhook-signature": `v1,${signature.digest("base64")}`,
  };
}

export const standardWebhooks: Verifier = {
  name: "standardwebhooks",
  prepare(genuine, secret) {
    const webhook = new StandardWebhook(secret, { format: "raw" });
    const headers = standardHeaders(genuine, secret);
    return (body) => {
      webhook.verify(body, headers, { jsonParse: false });
      return true;
    };
  },
};

/** Cannot be told not to parse. */
export const svix: Verifier = {
  name: "svix (parses as well)",
  prepare(genuine, secret) {
    const webhook = new SvixWebhook(secret, { format: "raw" });
    const headers = standardHeaders(genuine, secret);
    return (body) => webhook.verify(body, headers) !== undefined;
  },
};

export const stripe: Verifier = {
  name: "stripe",
  prepare(genuine, secret) {
    const { signature } = Stripe.webhooks;
    if (!signature) throw new Error("stripe has no signatures");
    const seconds = Math.floor(Date.now() / 1_000);
    const signed = Buffer.concat([Buffer.from(`${seconds}.`), genuine]);
    const header = `t=${seconds},v1=${signatureOf(signed, secret).slice("sha256=".length)}`;
    // Beyond the tolerance of 5 minutes a long run would be refused.
    return (body) => signature.verifyHeader(body, header, secret, 3_600);
  },
};

/** Takes a Request, so making one is part of the work; parses as well. */
export const tern: Verifier = {
  name: "@hookflo/tern (Request, parses)",
  prepare(genuine, secret) {
    const headers = { "x-hub-signature-256": signatureOf(genuine, secret) };
    return async (body) => {
      const request = new Request("http://localhost/", { method: "POST", headers, body });
      const result = await WebhookVerificationService.verifyWithPlatformConfig(
        request,
        "github",
        secret,
      );
      return result.isValid;
    };
  },
};
