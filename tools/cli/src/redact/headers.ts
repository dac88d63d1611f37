import { headerNames } from "@svc-webhooks/core/adapter";
import { senders, service } from "@svc-webhooks/schemes/senders";
import { isIdText, isTypeName } from "../lib/field-name.js";
import type { HeaderList } from "../lib/target.js";
import type { Redactor } from "./redactor.js";

/** The names of headers that contain the sender's own ids. */
const idHeaders: ReadonlySet<string> = new Set([
  ...[service, ...Object.values(senders)].flatMap(({ form }) => form.idHeaders),
  headerNames.subscriptionId,
  headerNames.eventId,
  "x-shopify-event-id",
]);

/** The names of headers that contain the type of the event. */
const typeHeaders: ReadonlySet<string> = new Set([
  "x-github-event",
  "linear-event",
  "x-shopify-topic",
  "x-wc-webhook-topic",
]);

/**
 * Returns whether the value of an id, type or attempt header is well-formed, so that it may stay, or undefined for any
 * other header.
 */
function isKept(name: string, value: string): boolean | undefined {
  if (idHeaders.has(name)) return isIdText(value);
  if (typeHeaders.has(name)) return isTypeName(value);
  return name === headerNames.attempt ? /^\d{1,4}$/.test(value) : undefined;
}

/** Matches a media type, and its character set if nothing else follows. */
const mediaType = /^[a-z]+\/[a-z\d.+-]{1,60}(?:; ?charset=[a-z\d-]{1,20}$)?/i;

export interface RedactedHeaders {
  readonly headers: HeaderList;
  /** The sender's ids in these headers, which stay in the body too. */
  readonly ids: ReadonlySet<string>;
}

/**
 * Returns the headers that a fixture keeps: `Host`, `Content-Length`, `Content-Type` if it starts with a media type,
 * the known id, type and attempt headers, those that `--keep` names, and those that the scheme reads. Drops all others,
 * and all but the first of each name. Keeps the media type, well-formed ids, types and attempt numbers, and the values
 * of other headers that `--keep` names. Replaces the other values, or empties them if only the scheme reads the header.
 *
 * @param signature the lower-case names of the headers that the scheme reads. The first contains the signature, whose
 *   value is always emptied
 */
export function redactedHeaders(
  headers: HeaderList,
  signature: readonly string[],
  redactor: Redactor,
): RedactedHeaders {
  const seen = new Set<string>();
  const ids = new Set<string>();
  const valueOf = (name: string, value: string): string | undefined => {
    if (name === "host") return "localhost";
    // `signedHeaders` writes the length of the new body.
    if (name === "content-length") return "0";
    if (name === "content-type") return mediaType.exec(value)?.[0];
    if (name === signature[0]) return "";
    const isListed = redactor.keeps(name) || isKept(name, value);
    if (isListed === undefined) return signature.includes(name) ? "" : undefined;
    if (!isListed) return redactor.text(value);
    redactor.note(name);
    if (idHeaders.has(name)) ids.add(value);
    return value;
  };
  const written = headers.flatMap(([name, value]) => {
    const lower = name.toLowerCase();
    // Keeps only the first header of a name, because a receiver reads only that one, or none if there are several.
    if (seen.has(lower)) return [];
    seen.add(lower);
    const text = valueOf(lower, value);
    return text === undefined ? [] : [[name, text] as const];
  });
  return { headers: written, ids };
}

/**
 * Returns the headers with a new signature and the right `Content-Length`. Each header in `signature` replaces the
 * header with the same name, or is appended if there is none.
 */
export function signedHeaders(
  headers: HeaderList,
  signature: Readonly<Record<string, string>>,
  length: number,
): HeaderList {
  const missing = Object.entries(signature).filter(
    ([name]) => !headers.some(([header]) => header.toLowerCase() === name),
  );
  const written = headers.map(([name, value]) => {
    const lower = name.toLowerCase();
    return [
      name,
      lower === "content-length" ? String(length) : (signature[lower] ?? value),
    ] as const;
  });
  return [...written, ...missing];
}
