import { createHash } from "node:crypto";

/** An API key as it may be shown: with four of at least twelve characters. */
export const maskedKey = (key: string): string => (key.length < 12 ? "…" : `…${key.slice(-4)}`);

/** The hash that is stored in place of an API key. */
export const hashedKey = (key: string): string =>
  createHash("sha256").update(key).digest("base64url").slice(0, 22);
