import { fromBase64, toBase64 } from "../lib/base64.js";
import { toHex } from "../lib/hex.js";
import { ecdsa } from "./public-key-signers.js";
import type { SchemeName } from "./signers.js";

/** The two halves of a key. They are equal for HMAC. */
export interface TestKeys {
  /** The receiver's option `secret`, which verifies. */
  readonly secret: string;
  /** The option `secret` of a signer, which signs. */
  readonly signingSecret: string;
}

const random = (length: number) => crypto.getRandomValues(new Uint8Array(length));

const equal = (secret: string): TestKeys => ({ secret, signingSecret: secret });

/** Resolves to the 32 bytes of a new Ed25519 private key, and those of its public key. */
async function ed25519Pair() {
  const pair = await crypto.subtle.generateKey("Ed25519", true, ["sign", "verify"]);
  const { d = "" } = await crypto.subtle.exportKey("jwk", pair.privateKey);
  // JWK has base64url without padding. 32 bytes are 43 digits and one `=`.
  const seed = fromBase64(`${d.replaceAll("-", "+").replaceAll("_", "/")}=`) ?? new Uint8Array();
  return { seed, point: new Uint8Array(await crypto.subtle.exportKey("raw", pair.publicKey)) };
}

const generators: Readonly<Record<SchemeName, () => TestKeys | Promise<TestKeys>>> = {
  standardWebhooks: () => equal(`whsec_${toBase64(random(32))}`),
  svix: () => equal(`whsec_${toBase64(random(24))}`),
  stripe: () => equal(`whsec_${toHex(random(32))}`),
  github: () => equal(toHex(random(32))),
  slack: () => equal(toHex(random(16))),
  shopify: () => equal(`shpss_${toHex(random(16))}`),
  paddle: () => equal(`pdl_ntfset_${toHex(random(24))}`),
  linear: () => equal(`lin_wh_${toHex(random(20))}`),
  async standardWebhooksEd25519() {
    const { seed, point } = await ed25519Pair();
    return {
      secret: `whpk_${toBase64(point)}`,
      signingSecret: `whsk_${toBase64(Uint8Array.from([...seed, ...point]))}`,
    };
  },
  async discord() {
    const { seed, point } = await ed25519Pair();
    return { secret: toHex(point), signingSecret: toHex(seed) };
  },
  async sendgrid() {
    const pair = await crypto.subtle.generateKey(ecdsa, true, ["sign", "verify"]);
    const [spki, pkcs8] = await Promise.all([
      crypto.subtle.exportKey("spki", pair.publicKey),
      crypto.subtle.exportKey("pkcs8", pair.privateKey),
    ]);
    return {
      secret: toBase64(new Uint8Array(spki)),
      signingSecret: toBase64(new Uint8Array(pkcs8)),
    };
  },
};

/**
 * Resolves to new random keys of a scheme, so that tests and tools need no key material.
 *
 * @example
 * ```ts
 * import { signers, testKeys } from "@svc-webhooks/schemes/sign";
 *
 * const { secret, signingSecret } = await testKeys("discord");
 * const headers = await signers.discord('{"type":0}', { secret: signingSecret });
 * console.log("a receiver with the secret", secret, "accepts", headers);
 * ```
 */
export const testKeys = async (name: SchemeName): Promise<TestKeys> => generators[name]();
