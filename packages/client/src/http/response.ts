import { maskedSecret } from "../secret.js";
import type { Received } from "./attempt.js";
import type { Failure } from "./failure.js";
import { mask, oneLine } from "./mask.js";
import type { PreparedRequest } from "./prepare.js";
import { retryAfterMs } from "./retry.js";

/**
 * Parses a response. Returns the value of a success, or the failure. The body of an error may have any of the three
 * shapes of assumption A-11.
 */
export function readResponse(
  { status, headers, text, isTooLarge }: Received,
  { call: { mayBeEmpty, result }, maxResponseBytes }: PreparedRequest,
  apiKey: string,
  now: number,
): { readonly value: unknown } | { readonly failure: Failure } {
  const json = parsed(text);
  const body = Object(json) as Readonly<Record<string, unknown>>;
  const { error: nested } = body;
  // In one shape, the error is nested in `error`. In the other two, its members are at the top level of the body.
  const error = (Object(nested) === nested ? nested : body) as typeof body;
  const shown = (value: unknown, longest = 1_000) =>
    typeof value === "string" ? oneLine(value, apiKey, longest) : undefined;
  const requestId = requestIdOf(headers) ?? error["request_id"] ?? body["request_id"];
  const common = { status, headers, requestId: shown(requestId, 200) };
  const invalid = (code: string, message: string, isLost = false) => ({
    failure: { kind: "response" as const, facts: { ...common, code, message }, isLost },
  });
  const excerpt = oneLine(mask(text, apiKey).slice(0, 10_000).replaceAll(markup, " "), apiKey, 100);
  const unexpected = `The response ${excerpt ? `is unexpected: "${excerpt}"` : "has no text"}.`;

  if (status >= 200 && status < 300) {
    if (isTooLarge)
      return invalid(
        "response_too_large",
        `The response is larger than ${maxResponseBytes} bytes. The request was processed. Raise \`maxResponseBytes\`.`,
      );
    if (!text && mayBeEmpty) return { value: undefined };
    if (result && json !== undefined && !body[result])
      return invalid("invalid_response", `The response has no \`${result}\`.`);
    if (json === body && typeof body["send_id"] !== "number") return { value: json };
    // Incomplete JSON and an empty body were probably cut off in transit, so a retry may help. Any other invalid
    // response would probably be the same again.
    const isCut = json === undefined && /json/.test(headers.get("content-type") ?? "");
    return invalid("invalid_response", unexpected, isCut || !text);
  }
  const location = shown(headers.get("location"));
  if (status < 400 && location)
    return invalid("redirected", `The service redirects to ${location}. Check the base URL.`);
  const facts = {
    ...common,
    code: shown(error["code"]) ?? `http_${status}`,
    message: shown(error["message"] ?? error["detail"]) ?? unexpected,
    param: shown(error["param"]),
    retryAfterMs: retryAfterMs(status, headers, now),
  };
  return { failure: { facts } };
}

/** Matches the markup of a proxy's error page. */
const markup = /<(style|script)[^]*?<\/\1>|<[^>]*>/gi;

export const requestIdOf = (headers: Headers): string | undefined =>
  headers.get("x-request-id") ?? undefined;

/**
 * Parses JSON. Replaces the text of each member whose name contains `secret` with a MaskedSecret. Returns undefined if
 * the text is not JSON.
 */
function parsed(text: string): unknown {
  try {
    return JSON.parse(text, (name, value: unknown) =>
      /secret/i.test(name) && typeof value === "string" ? maskedSecret(value) : value,
    );
  } catch {
    return undefined;
  }
}
