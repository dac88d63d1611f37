import { generateKeyPairSync, sign as signWith, type KeyObject } from "node:crypto";
import * as octokit from "@octokit/webhooks-methods";
import { EventWebhook } from "@sendgrid/eventwebhook";
import { createReceiver, type Scheme, type VerificationKey } from "@svc-webhooks/core";
import { discord, github, sendgrid, standardWebhooks, stripe } from "@svc-webhooks/schemes";
import { verifyKey } from "discord-interactions";
import { Webhook as StandardWebhook } from "standardwebhooks";
import { Stripe } from "stripe";
import { Webhook as SvixWebhook } from "svix";
import { secret, type Body } from "./deliveries.js";
import type { Check } from "./verifiers.js";

/** The name of this project's contender. */
export const lane = "svc-webhooks";

/** Signs `genuine` as the sender does, and resolves to the checks of all contenders, by name. */
export type Contenders = (genuine: Body) => Promise<Readonly<Record<string, Check>>>;

type Headers = Readonly<Record<string, string>>;

/** Resolves to a check that verifies a delivery as a receiver does: first the headers, then the signature. */
async function ours<Claim>(
  scheme: Scheme<Claim>,
  key: string,
  headers: Headers,
  genuine: Body,
): Promise<Check> {
  let imported: VerificationKey<Claim> | undefined;
  // Imports the key through a receiver, because only a receiver provides a scheme with a function to import HMAC keys.
  const importKey: typeof scheme.importKey = async (bytes, hmac) =>
    (imported = await scheme.importKey(bytes, hmac));
  const lookup = (name: string) => headers[name] ?? "";
  const receiver = createReceiver({
    scheme: { ...scheme, importKey },
    secret: key,
    on: { "*": () => {} },
    log: () => {},
  });
  await receiver.receive({ method: "POST", headers: lookup, body: genuine });
  return (body) => {
    const { problem, claim } = scheme.inspect(lookup, Date.now());
    return problem === undefined && imported?.verify(body, claim as Claim);
  };
}

const secondsNow = () => String(Math.floor(Date.now() / 1_000));

const derOf = (publicKey: KeyObject) => publicKey.export({ format: "der", type: "spki" });

/** Resolves to a check that uses only WebCrypto to verify the signature over a time and a body. */
async function webCrypto(
  algorithm: EcKeyImportParams & EcdsaParams,
  publicKey: KeyObject,
  signature: Uint8Array<ArrayBuffer>,
  time: string,
): Promise<Check> {
  const key = await crypto.subtle.importKey("spki", derOf(publicKey), algorithm, false, ["verify"]);
  const before = Buffer.from(time);
  return (body) => crypto.subtle.verify(algorithm, key, signature, Buffer.concat([before, body]));
}

/** The contenders of each scheme whose sender offers a package to compare with. */
export const senders: Readonly<Record<string, Contenders>> = {
  async stripe(genuine) {
    const { webhooks } = Stripe;
    const payload = genuine.toString();
    const header = webhooks.generateTestHeaderString({ payload, secret });
    return {
      [lane]: await ours(stripe(), secret, { "stripe-signature": header }, genuine),
      stripe: (body) => webhooks.signature?.verifyHeader(body, header, secret, 300),
    };
  },

  async standardWebhooks(genuine) {
    const key = `whsec_${Buffer.from(secret).toString("base64")}`;
    const id = "msg_2KWPBgLlAfxdpx2AI54pPJ85f4W";
    const standard = new StandardWebhook(key);
    const svix = new SvixWebhook(key);
    const now = new Date();
    const headers = {
      "webhook-id": id,
      "webhook-timestamp": String(Math.floor(now.getTime() / 1_000)),
      "webhook-signature": standard.sign(id, now, genuine.toString()),
    };
    return {
      [lane]: await ours(standardWebhooks(), key, headers, genuine),
      standardwebhooks(body) {
        standard.verify(body, headers, { jsonParse: false });
        return true;
      },
      // This package has no option to skip parsing.
      "svix (parses)": (body) => svix.verify(body, headers) !== undefined,
    };
  },

  async github(genuine) {
    const signature = await octokit.sign(secret, genuine.toString());
    return {
      [lane]: await ours(github(), secret, { "x-hub-signature-256": signature }, genuine),
      // This package accepts text, so decoding the bytes is part of the work.
      "@octokit/webhooks-methods": (body) => octokit.verify(secret, body.toString(), signature),
    };
  },

  async discord(genuine) {
    const { privateKey, publicKey } = generateKeyPairSync("ed25519");
    const time = secondsNow();
    const signature = signWith(null, Buffer.concat([Buffer.from(time), genuine]), privateKey);
    const hex = signature.toString("hex");
    const raw = derOf(publicKey).subarray(-32);
    const headers = { "x-signature-ed25519": hex, "x-signature-timestamp": time };
    // Imports the key once, which discord-interactions allows.
    const key = await crypto.subtle.importKey("raw", raw, "Ed25519", false, ["verify"]);
    return {
      [lane]: await ours(discord(), raw.toString("hex"), headers, genuine),
      "discord-interactions": (body) => verifyKey(body, hex, time, key),
      WebCrypto: await webCrypto({ name: "Ed25519" } as never, publicKey, signature, time),
    };
  },

  async sendgrid(genuine) {
    const { privateKey, publicKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
    const time = secondsNow();
    const message = Buffer.concat([Buffer.from(time), genuine]);
    const der = signWith("sha256", message, privateKey).toString("base64");
    const plain = signWith("sha256", message, { key: privateKey, dsaEncoding: "ieee-p1363" });
    const key = derOf(publicKey).toString("base64");
    const headers = {
      "x-twilio-email-event-webhook-signature": der,
      "x-twilio-email-event-webhook-timestamp": time,
    };
    const theirs = new EventWebhook();
    const converted = theirs.convertPublicKeyToECDSA(key);
    const algorithm = { name: "ECDSA", namedCurve: "P-256", hash: "SHA-256" };
    return {
      [lane]: await ours(sendgrid(), key, headers, genuine),
      "@sendgrid/eventwebhook": (body) => theirs.verifySignature(converted, body, der, time),
      WebCrypto: await webCrypto(algorithm, publicKey, plain, time),
    };
  },
};
