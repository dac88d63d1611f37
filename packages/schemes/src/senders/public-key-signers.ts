import { fromBase64, toBase64 } from "../lib/base64.js";
import { concat, type Source } from "../lib/bytes.js";
import { fromHex, toHex } from "../lib/hex.js";
import { secondsOf, signedBytes, type Signer } from "./signer.js";

/** The bytes that precede the 32 bytes of an Ed25519 private key in PKCS #8 (RFC 8410, section 7). */
const pkcs8Start = /* @__PURE__ */ fromHex("302e020100300506032b657004220420") as Source;

/** The algorithm of SendGrid's keys. */
export const ecdsa = { name: "ECDSA", namedCurve: "P-256", hash: "SHA-256" } as const;

/** Resolves to the Ed25519 signature of a text followed by the body. */
async function ed25519(seed: Uint8Array | undefined, before: string, body: string | Uint8Array) {
  const pkcs8 = concat(pkcs8Start, (seed ?? new Uint8Array()).subarray(0, 32));
  const key = await crypto.subtle.importKey("pkcs8", pkcs8 as Source, "Ed25519", false, ["sign"]);
  const message = signedBytes(before, body) as Source;
  return new Uint8Array(await crypto.subtle.sign("Ed25519", key, message));
}

/** Encodes a 32-byte number as a DER integer, in the shortest form that is not negative. */
function derInteger(number: Uint8Array): readonly number[] {
  const digits = number.subarray(number.findIndex((byte) => byte > 0));
  const sign = (digits[0] ?? 0) > 127 ? [0] : [];
  return [2, digits.length + sign.length, ...sign, ...digits];
}

export const standardWebhooksEd25519Signer: Signer = async (body, options) => {
  const { secret, deliveryId = `msg_${crypto.randomUUID()}` } = options;
  const time = secondsOf(options);
  const seed = fromBase64(secret.replace(/^whsk_/, ""));
  const signature = await ed25519(seed, `${deliveryId}.${time}.`, body);
  return {
    "webhook-signature": `v1a,${toBase64(signature)}`,
    "webhook-id": deliveryId,
    "webhook-timestamp": time,
  };
};

export const discordSigner: Signer = async (body, options) => {
  const time = secondsOf(options);
  return {
    "x-signature-ed25519": toHex(await ed25519(fromHex(options.secret), time, body)),
    "x-signature-timestamp": time,
  };
};

export const sendgridSigner: Signer = async (body, options) => {
  const time = secondsOf(options);
  const pkcs8 = (fromBase64(options.secret) ?? new Uint8Array()) as Source;
  const key = await crypto.subtle.importKey("pkcs8", pkcs8, ecdsa, false, ["sign"]);
  const message = signedBytes(time, body) as Source;
  const signature = new Uint8Array(await crypto.subtle.sign(ecdsa, key, message));
  const integers = [signature.subarray(0, 32), signature.subarray(32)].flatMap(derInteger);
  return {
    "x-twilio-email-event-webhook-signature": toBase64(
      Uint8Array.from([0x30, integers.length, ...integers]),
    ),
    "x-twilio-email-event-webhook-timestamp": time,
  };
};
