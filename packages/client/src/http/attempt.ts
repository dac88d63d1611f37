import { AbortedError, ConnectionError, TimeoutError } from "../errors.js";
import type { Connection } from "../options.js";
import { onAbort } from "./clock.js";
import type { Failure } from "./failure.js";
import { maskedHeaders, plainError } from "./mask.js";

/** A whole response. */
export interface Received {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
}

/** The time of an attempt. */
export interface AttemptLimit {
  readonly ms: number;
  readonly code: "attempt_timeout" | "deadline_exceeded";
  /** The limit that the caller knows. */
  readonly of: number;
}

/** Makes one attempt and reads its whole response. Never rejects. */
export async function makeAttempt(
  { fetch, apiKey, baseUrl }: Connection,
  path: string,
  init: RequestInit,
  limit: AttemptLimit,
  signal: AbortSignal | undefined,
): Promise<
  | { readonly received: Received; readonly failure?: undefined }
  | { readonly received?: undefined; readonly failure: Failure }
> {
  const controller = new AbortController();
  const timer = setTimeout(() => controller.abort(), limit.ms);
  const forget = onAbort(signal, () => controller.abort());
  // An injected `fetch` may ignore its signal.
  const ended = new Promise<never>((_resolve, reject) => {
    controller.signal.addEventListener("abort", reject);
  });
  let received: Received | undefined;
  const receive = async (): Promise<Received> => {
    const response = await fetch(baseUrl + path, { ...init, signal: controller.signal });
    const { status, headers, ok } = response;
    const begun = { status, headers: maskedHeaders(headers, apiKey), text: "" };
    // An error counts, also if the rest of it does not arrive.
    if (!ok) received = begun;
    return { ...begun, text: await response.text() };
  };
  try {
    return { received: await Promise.race([receive(), ended]) };
  } catch (error) {
    if (signal?.aborted) return { failure: abortion(signal) };
    if (received) return { received };
    if (controller.signal.aborted) return { failure: timeout(limit) };
    const cause = plainError(error, apiKey);
    const message = `There was no whole response from ${baseUrl}: ${reasonOf(cause)}.`;
    const facts = { code: "connection_failed", message, cause };
    return { failure: { type: ConnectionError, facts, isLost: true } };
  } finally {
    clearTimeout(timer);
    forget();
  }
}

export const timeout = ({ code, of }: AttemptLimit): Failure => ({
  type: TimeoutError,
  facts: { code, message: `There was no whole response within ${of / 1_000} s.` },
  isLost: true,
});

/** The end of a request by its caller. */
export const abortion = ({ reason }: AbortSignal): Failure => ({
  type: AbortedError,
  facts: { code: "aborted", message: "The request was aborted.", cause: reason },
});

/** `fetch failed` has its reason as its cause, and that one may have a code alone. */
function reasonOf(error: Error): string {
  const { message, code } = (error.cause ?? error) as Error & { readonly code?: string };
  return message || code || error.message;
}
