import { createHash } from "node:crypto";

/*
 * These functions convert values of a `DeliveryStore`'s calls to and from the texts that the functions in `schema.sql`
 * use.
 */

/**
 * Returns the key of the record as 32 hex digits, a form of a UUID. Receivers' keys have this form; any other key is
 * hashed to that form.
 */
export function uuid(key: string): string {
  if (/^[0-9a-f]{32}$/.test(key)) return key;
  return createHash("sha256").update(key).digest("hex").slice(0, 32);
}

/** Encodes text, because PostgreSQL text cannot contain NUL. Receivers' tokens and lineages stay unchanged. */
export const encoded = (text = ""): string => (/^[\w-]*$/.test(text) ? text : JSON.stringify(text));

export const decoded = (text: string): string =>
  text.startsWith('"') ? (JSON.parse(text) as string) : text;
