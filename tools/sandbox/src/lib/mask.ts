import { createHash } from "node:crypto";

/** Masks an API key: returns `…` and its last four characters, or only `…` if it has fewer than twelve. */
export const maskedKey = (key: string): string => (key.length < 12 ? "…" : `…${key.slice(-4)}`);

/** Returns the hash that is stored in place of an API key. */
export const hashedKey = (key: string): string =>
  createHash("sha256").update(key).digest("base64url").slice(0, 22);
