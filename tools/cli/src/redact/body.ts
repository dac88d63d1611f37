import { jsonIn } from "../lib/json-in.js";
import { headerOf } from "../lib/delivery-headers.js";
import type { HeaderList } from "../lib/target.js";
import type { Redactor } from "./redactor.js";

/** The text of a body that can be redacted. */
export interface BodyText {
  /** The byte order mark, or an empty string. */
  readonly start: string;
  readonly text: string;
  readonly syntax: "json" | "form" | "empty";
}

/** Returns the text of a body, or the reason why it cannot be redacted, as a whole sentence. */
export function bodyTextOf(headers: HeaderList, body: Uint8Array): BodyText | string {
  // These values mean that the body is not compressed. Receivers accept the same ones.
  const encoding = headerOf(headers, "content-encoding") ?? "";
  if (!/^\s*(?:identity|none|utf-?8|[78]bit|binary|)\s*$/i.test(encoding))
    return "Its body is compressed.";
  let all: string;
  try {
    all = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(body);
  } catch {
    return "Its body is not UTF-8 text.";
  }
  const start = all.startsWith("\ufeff") ? "\ufeff" : "";
  const text = all.slice(start.length);
  if (text === "") return { start, text, syntax: "empty" };
  // JSON may have the content type of a form, which is curl's default.
  if (jsonIn(text) !== undefined) return { start, text, syntax: "json" };
  const type = headerOf(headers, "content-type") ?? "";
  return /^\s*application\/x-www-form-urlencoded\b/i.test(type)
    ? { start, text, syntax: "form" }
    : "Its body is neither JSON nor an HTML form.";
}

/**
 * Returns the redacted body.
 *
 * @param ids the sender's ids in the request's headers, which stay in the body
 */
export function redactedBody(
  { start, text, syntax }: BodyText,
  ids: ReadonlySet<string>,
  redactor: Redactor,
): Buffer {
  const written = syntax === "empty" ? "" : redactor[syntax](text, ids);
  return Buffer.from(start + written);
}
