import { fromBase64, toBase64 } from "../lib/base64.js";
import { toHex } from "../lib/hex.js";
import { ecdsa } from "./public-key-signers.js";
import type { Sender, TestKeys } from "./sender.js";

const random = (length: number) => crypto.getRandomValues(new Uint8Array(length));

/**
 * Returns a function that generates one random secret for receiver and sender: a prefix, then bytes in hex or base64.
 */
export const sharedSecret =
  (
    prefix: string,
    bytes: number,
    encode: (bytes: Uint8Array) => string = toHex,
  ): Sender["testKeys"] =>
  async () => {
    const secret = prefix + encode(random(bytes));
    return { secret, signingSecret: secret };
  };

/** Resolves to the 32 bytes of a new Ed25519 private key, and those of its public key. */
async function ed25519Pair() {
  const pair = await crypto.subtle.generateKey("Ed25519", true, ["sign", "verify"]);
  const { d = "" } = await crypto.subtle.exportKey("jwk", pair.privateKey);
  // Adds the padding that JWK's base64url lacks: 32 bytes are 43 digits and one `=`.
  const seed = fromBase64(`${d.replaceAll("-", "+").replaceAll("_", "/")}=`) ?? new Uint8Array();
  return { seed, point: new Uint8Array(await crypto.subtle.exportKey("raw", pair.publicKey)) };
}

export async function standardWebhooksPair(): Promise<TestKeys> {
  const { seed, point } = await ed25519Pair();
  return {
    secret: `whpk_${toBase64(point)}`,
    signingSecret: `whsk_${toBase64(Uint8Array.from([...seed, ...point]))}`,
  };
}

export async function discordPair(): Promise<TestKeys> {
  const { seed, point } = await ed25519Pair();
  return { secret: toHex(point), signingSecret: toHex(seed) };
}

export async function sendgridPair(): Promise<TestKeys> {
  const pair = await crypto.subtle.generateKey(ecdsa, true, ["sign", "verify"]);
  const [spki, pkcs8] = await Promise.all([
    crypto.subtle.exportKey("spki", pair.publicKey),
    crypto.subtle.exportKey("pkcs8", pair.privateKey),
  ]);
  return {
    secret: toBase64(new Uint8Array(spki)),
    signingSecret: toBase64(new Uint8Array(pkcs8)),
  };
}
