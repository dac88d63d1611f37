import { createHmac } from "node:crypto";
import { WebhookVerificationService as Tern } from "@hookflo/tern";
import * as octokit from "@octokit/webhooks-methods";
import { verify } from "@svc-webhooks/core";
import { Webhook as StandardWebhook } from "standardwebhooks";
import { Stripe } from "stripe";
import { Webhook as SvixWebhook } from "svix";
import { signatureOf, type Body } from "./deliveries.js";
import { isGenuine } from "./hand-written.js";

/**
 * Returns or resolves to `true` or `{ ok: true }` if the body is genuine. Otherwise, returns another value or throws.
 */
export type Check = (body: Body) => unknown;

/** Signs `genuine` as the contender's sender would, and returns a check against that signature. */
export type Verifier = (genuine: Body, secret: string) => Check;

export const floor: Verifier = (genuine, secret) => {
  const signature = signatureOf(genuine, secret);
  return (body) => isGenuine(body, signature, secret);
};

export const ours: Verifier = (genuine, secret) => {
  const signature = signatureOf(genuine, secret);
  return (body) => verify(body, signature, secret);
};

/**
 * Returns Standard Webhooks headers. Their signature also covers the id and the time, so the peers that check it hash
 * some 40 bytes more.
 */
function standardHeaders(genuine: Body, secret: string): Record<string, string> {
  const id = "msg_2KWPBgLlAfxdpx2AI54pPJ85f4W";
  const seconds = Math.floor(Date.now() / 1_000);
  const hmac = createHmac("sha256", secret).update(`${id}.${seconds}.`).update(genuine);
  return {
    "webhook-id": id,
    "webhook-timestamp": String(seconds),
    "webhook-signature": `v1,${hmac.digest("base64")}`,
  };
}

/** The verifiers of other libraries. Each rejects a signature header that is not in its own format. */
export const peers = {
  // This package accepts text, so decoding the bytes is part of the work.
  "@octokit/webhooks-methods": (genuine, secret) => {
    const signature = signatureOf(genuine, secret);
    return (body) => octokit.verify(secret, body.toString(), signature);
  },
  stripe: (genuine, secret) => {
    const { signature } = Stripe.webhooks;
    const seconds = Math.floor(Date.now() / 1_000);
    const signed = Buffer.concat([Buffer.from(`${seconds}.`), genuine]);
    const header = `t=${seconds},v1=${signatureOf(signed, secret).slice("sha256=".length)}`;
    // Raises the tolerance, because a full run may take longer than the default of 5 minutes.
    return (body) => signature?.verifyHeader(body, header, secret, 3_600);
  },
  standardwebhooks: (genuine, secret) => {
    const webhook = new StandardWebhook(secret, { format: "raw" });
    const headers = standardHeaders(genuine, secret);
    return (body) => {
      webhook.verify(body, headers, { jsonParse: false });
      return true;
    };
  },
  // This package has no option to skip parsing.
  "svix (parses)": (genuine, secret) => {
    const webhook = new SvixWebhook(secret, { format: "raw" });
    const headers = standardHeaders(genuine, secret);
    return (body) => webhook.verify(body, headers) !== undefined;
  },
  // This package accepts a Request, so creating one is part of the work.
  "@hookflo/tern (parses)": (genuine, secret) => {
    const headers = { "x-hub-signature-256": signatureOf(genuine, secret) };
    return async (body) => {
      const request = new Request("http://localhost/", { method: "POST", headers, body });
      const { isValid } = await Tern.verifyWithPlatformConfig(request, "github", secret);
      return isValid;
    };
  },
} satisfies Readonly<Record<string, Verifier>>;
