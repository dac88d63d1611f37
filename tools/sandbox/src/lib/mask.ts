import { createHash } from "node:crypto";

/** Masks an API key: returns `…` and its last four characters, or only `…` if it has fewer than twelve. */
export const maskedKey = (key: string): string => (key.length < 12 ? "…" : `…${key.slice(-4)}`);

/** Whether a text is a signing secret in the service's form. */
export const isSecret = (text: string): boolean => /^whsec_[\w+/=-]{1,200}$/.test(text);

/** Returns the part of a signing secret after `whsec_`, masked as `maskedKey` does. */
export const secretHint = (secret: string): string => maskedKey(secret.slice("whsec_".length));

/** Replaces each signing secret within a text, by default with `whsec_` and its hint. */
export const withoutSecrets = (
  text: string,
  mask: (secret: string) => string = (secret) => `whsec_${secretHint(secret)}`,
): string => text.replaceAll(/whsec_[\w+/=-]+/g, mask);

/** Returns the hash that is stored in place of an API key. */
export const hashedKey = (key: string): string =>
  createHash("sha256").update(key).digest("base64url").slice(0, 22);
