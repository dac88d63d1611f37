import { concat, utf8 } from "../lib/bytes.js";

/** The values that a sender would choose. A signer uses only some of them. */
export interface SignOptions {
  /**
   * The key that signs: the secret that the receiver has too, or the private key of an asymmetric scheme. `testKeys()`
   * of the sender generates it, together with the receiver's key.
   *
   * - `standard-webhooks-ed25519`: `whsk_` and base64 of the 32 bytes of an Ed25519 private key, with or without the
   *   32 bytes of the public key after them
   * - `discord`: the 32 bytes of an Ed25519 private key in hex digits
   * - `sendgrid`: base64 of a P-256 private key in PKCS #8
   */
  readonly secret: string;
  /**
   * The time of signing in epoch milliseconds. Default: now. Unused if the sender sends no time in a header, as for
   * Linear.
   */
  readonly at?: number | undefined;
  /** The delivery id, for senders that send it in a header. Default: a random id. */
  readonly deliveryId?: string | undefined;
  /**
   * The event's type, for senders that send it in a header. Default: the sender's simplest type, or no header for a
   * signer that `hmacSigner` returned.
   */
  readonly type?: string | undefined;
}

/** Resolves to the headers that the sender would send with `body`. Their names are in lower case. */
export type Signer = (
  body: string | Uint8Array,
  options: SignOptions,
) => Promise<Readonly<Record<string, string>>>;

export const secondsOf = ({ at = Date.now() }: SignOptions): string =>
  String(Math.floor(at / 1_000));

/** Returns the bytes that a sender signs: a text followed by the body. */
export const signedBytes = (before: string, body: string | Uint8Array): Uint8Array =>
  concat(utf8(before), typeof body === "string" ? utf8(body) : body);
