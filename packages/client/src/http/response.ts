import { errorClass, InvalidResponseError } from "../errors.js";
import { secret } from "../secret.js";
import type { Received } from "./attempt.js";
import type { Failure } from "./failure.js";
import { mask } from "./mask.js";
import { retryAfterMs } from "./retry.js";

/** Reads a response: the value of a success, or the error in any of the three shapes of A-11. */
export function readResponse(
  { status, headers, text }: Received,
  mayBeEmpty: boolean,
  apiKey: string,
  now: number,
): { readonly value: unknown } | { readonly failure: Failure } {
  const isSuccess = status >= 200 && status <= 299;
  const json = parsed(text);
  const body = isRecord(json) ? json : {};
  // Nested; the members of the other two shapes are those of the body.
  const error = isRecord(body["error"]) ? body["error"] : body;
  const shown = (value: unknown) =>
    typeof value === "string" ? oneLine(value, apiKey, 1_000) : undefined;
  const common = { status, headers, requestId: requestIdOf(headers) ?? shown(error["request_id"]) };
  const invalid = (code: string, message: string, isLost: boolean) => ({
    failure: { type: InvalidResponseError, facts: { ...common, code, message }, isLost },
  });
  const location = headers.get("location");
  if (status >= 300 && status <= 399 && location !== null) {
    const message = `The service redirects to ${location}. Redirects are not followed, because the API key would go there too. Check the base URL.`;
    return invalid("redirected", message, false);
  }
  if (isSuccess) {
    if (text === "" && mayBeEmpty) return { value: undefined };
    if (typeof json === "object" && json !== null) return { value: withSecret(json) };
    // JSON that is not whole was cut; anything else will be the same again.
    const isCut = text === "" || (json === undefined && isJson(headers));
    return invalid("invalid_response", unexpected(status, text, apiKey), isCut);
  }
  const facts = {
    ...common,
    code: shown(error["code"]) ?? `http_${status}`,
    message:
      shown(error["message"]) ??
      shown(error["detail"]) ??
      shown(body["error"]) ??
      unexpected(status, text, apiKey),
    param: shown(error["param"]),
    retryAfterMs: retryAfterMs(headers, now),
  };
  return { failure: { type: errorClass(status), facts } };
}

export const requestIdOf = (headers: Headers): string | undefined =>
  headers.get("x-request-id") ?? undefined;

const isRecord = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null && !Array.isArray(value);

const isJson = (headers: Headers) => /json/.test(headers.get("content-type") ?? "");

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** The service shows a signing secret in the member `secret` only. */
function withSecret(value: object): object {
  const text = isRecord(value) ? value["secret"] : undefined;
  return typeof text === "string" ? { ...value, secret: secret(text) } : value;
}

/** Quotes the beginning of a text, such as a proxy's error page, without its markup. */
function unexpected(status: number, text: string, apiKey: string): string {
  const plain = mask(text, apiKey)
    .slice(0, 10_000)
    .replaceAll(/<(style|script)[^]*?<\/\1>|<[^>]*>/gi, " ");
  const excerpt = oneLine(plain, apiKey, 100);
  return `The response with the status ${status} is ${excerpt ? `unexpected: "${excerpt}"` : "empty"}.`;
}

/** Nothing that a server writes may fill a log, or write to a terminal. */
const oneLine = (text: string, apiKey: string, length: number): string | undefined =>
  mask(text, apiKey)
    .replaceAll(/[\s\p{Cc}]+/gu, " ")
    .trim()
    .slice(0, length) || undefined;
