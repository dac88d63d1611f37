import { onAbort } from "../clock.js";
import type { Connection } from "../options.js";
import type { Failure } from "./failure.js";
import { maskedHeaders, plainError } from "./mask.js";
import type { PreparedRequest } from "./prepare.js";

/** A whole response. */
export interface Received {
  readonly status: number;
  readonly headers: Headers;
  /** The start of a body that is too large. */
  readonly text: string;
  readonly isTooLarge?: boolean;
}

/** The time of an attempt. */
export interface AttemptLimit {
  readonly ms: number;
  /** When it is over. */
  readonly failure: Failure;
}

/** Makes one attempt and reads its whole response. Never rejects. */
export async function makeAttempt(
  { fetch, apiKey, baseUrl }: Connection,
  init: RequestInit,
  limit: AttemptLimit,
  { path, signal, maxResponseBytes }: PreparedRequest,
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
    const { ok, status } = response;
    const headers = maskedHeaders(response.headers, apiKey);
    const begun = { status, headers, text: "" };
    // An error counts, even if the rest of it does not arrive.
    if (!ok) received = begun;
    const chunks: Uint8Array[] = [];
    let left = maxResponseBytes;
    for await (const chunk of response.body ?? []) {
      left -= chunk.length;
      // Leaving the loop ends the response.
      if (left < 0) break;
      chunks.push(chunk);
    }
    return { ...begun, text: await new Blob(chunks).text(), isTooLarge: left < 0 };
  };
  try {
    return { received: await Promise.race([receive(), ended]) };
  } catch (error) {
    if (signal?.aborted) return { failure: abortion(signal) };
    if (received) return { received };
    if (controller.signal.aborted) return limit;
    const cause = plainError(error, apiKey);
    const message = `There was no whole response from ${baseUrl}: ${reasonOf(cause)}.`;
    const facts = { code: "connection_failed", message, cause };
    return { failure: { kind: "connection", facts, isLost: true } };
  } finally {
    clearTimeout(timer);
    forget();
  }
}

/** @param of the limit that the caller knows */
export const timeLimit = (
  ms: number,
  code: "attempt_timeout" | "deadline_exceeded",
  of: number,
): AttemptLimit => ({
  ms,
  failure: {
    kind: "timeout",
    facts: { code, message: `There was no whole response within ${of / 1_000} s.` },
    isLost: true,
  },
});

/** The end of a request by its caller. */
export const abortion = ({ reason }: AbortSignal): Failure => ({
  kind: "aborted",
  facts: { code: "aborted", message: "The request was aborted.", cause: reason },
});

/** `fetch failed` has its reason as its cause, and that one may have a code alone. */
function reasonOf(error: Error): string {
  const { message, code } = (error.cause ?? error) as Error & { readonly code?: string };
  return message || code || error.message;
}
