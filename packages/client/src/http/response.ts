import { errorClass, InvalidResponseError } from "../errors.js";
import { secret } from "../secret.js";
import type { Received } from "./attempt.js";
import type { Failure } from "./failure.js";
import { mask } from "./mask.js";
import { retryAfterMs } from "./retry.js";

/** Most characters of a response without JSON that an error shows. */
const excerptLength = 100;

/** Reads a response: the value of a success, or the error in any of the three shapes of A-11. */
export function readResponse(
  { status, headers: given, text: whole }: Received,
  mayBeEmpty: boolean,
  apiKey: string,
  now: number,
): { readonly value: unknown } | { readonly failure: Failure } {
  const isSuccess = status >= 200 && status <= 299;
  // What an error shows must not contain the key.
  const headers = maskedHeaders(given, apiKey);
  const text = isSuccess ? whole : mask(whole, apiKey);
  const json = parsed(text);
  const body = isRecord(json) ? json : {};
  // Nested; the members of the other two shapes are those of the body.
  const error = isRecord(body["error"]) ? body["error"] : body;
  const common = {
    status,
    headers,
    requestId: requestIdOf(headers) ?? textOf(error["request_id"]),
  };
  const invalid = (code: string, message: string, isLost: boolean) => ({
    failure: {
      type: InvalidResponseError,
      facts: { ...common, code, message: mask(message, apiKey) },
      isLost,
    },
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
    const isCut = text === "" || /json/.test(headers.get("content-type") ?? "");
    return invalid("invalid_response", notJson(status, text), isCut);
  }
  const message =
    textOf(error["message"]) ??
    textOf(error["detail"]) ??
    textOf(body["error"]) ??
    notJson(status, text);
  const facts = {
    ...common,
    code: textOf(error["code"]) ?? `http_${status}`,
    message,
    param: textOf(error["param"]),
    retryAfterMs: retryAfterMs(headers, now),
  };
  return { failure: { type: errorClass(status), facts } };
}

export const requestIdOf = (headers: Headers): string | undefined =>
  headers.get("x-request-id") ?? undefined;

const isRecord = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null && !Array.isArray(value);

const textOf = (value: unknown): string | undefined =>
  typeof value === "string" && value !== "" ? value : undefined;

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

/** Quotes the text of a proxy's error page without its markup. */
function notJson(status: number, text: string): string {
  const plain = text
    .slice(0, 10_000)
    .replaceAll(/<(style|script)[^]*?<\/\1>|<[^>]*>|[\s\p{Cc}]/giu, " ")
    .replaceAll(/ +/g, " ")
    .trim();
  const what = text === "" ? "empty" : `not JSON: "${plain.slice(0, excerptLength)}"`;
  return `The response with the status ${status} is ${what}.`;
}

function maskedHeaders(headers: Headers, apiKey: string): Headers {
  const copy = new Headers();
  for (const [name, value] of headers) copy.append(name, mask(value, apiKey));
  return copy;
}
