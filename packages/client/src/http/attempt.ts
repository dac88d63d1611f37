import { onAbort } from "../clock.js";
import type { Connection } from "../options.js";
import type { Failure } from "./failure.js";
import { maskedHeaders, plainError } from "./mask.js";
import type { PreparedRequest } from "./prepare.js";

/** The response to an attempt. */
export interface Received {
  readonly status: number;
  readonly headers: Headers;
  /**
   * The body, or only its start if it is too large. Empty if the body of an error response did not arrive completely.
   */
  readonly text: string;
  readonly isTooLarge?: boolean;
}

/** The time limit of an attempt. */
export interface AttemptLimit {
  readonly ms: number;
  /** The failure to report when the time is up. */
  readonly failure: Failure;
}

/** Makes one attempt and reads the response, up to `maxResponseBytes`. Never rejects. */
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
  // An injected `fetch` may ignore its signal, so the attempt does not rely on it.
  const ended = new Promise<never>((_resolve, reject) => {
    controller.signal.addEventListener("abort", reject);
  });
  let received: Received | undefined;
  const receive = async (): Promise<Received> => {
    const response = await fetch(baseUrl + path, { ...init, signal: controller.signal });
    const { ok, status } = response;
    const headers = maskedHeaders(response.headers, apiKey);
    const begun = { status, headers, text: "" };
    // Keeps an error response, which counts even if its body does not arrive completely.
    if (!ok) received = begun;
    // Decodes the body chunk by chunk. A Blob of the chunks would be shorter, but jsdom's Blob has no `text`.
    const decoder = new TextDecoder();
    let text = "";
    let left = maxResponseBytes;
    // Calls `text` if there is no `body`, as in a polyfill, or if a wrapper of `fetch` has read the body, because
    // iteration would then find nothing, whereas `text` throws. A mock's body may consist of strings.
    const body: AsyncIterable<Uint8Array | string> | readonly string[] = (!response.bodyUsed &&
      response.body) || [await response.text()];
    for await (const chunk of body) {
      left -= chunk.length;
      // Leaving the loop cancels the response body.
      if (left < 0) break;
      text += typeof chunk === "string" ? chunk : decoder.decode(chunk, { stream: true });
    }
    return { ...begun, text: text + decoder.decode(), isTooLarge: left < 0 };
  };
  try {
    return { received: await Promise.race([receive(), ended]) };
  } catch (error) {
    if (signal?.aborted) return { failure: abortion(signal) };
    if (received) return { received };
    if (controller.signal.aborted) return limit;
    const cause = plainError(error, apiKey);
    if (!cause.cause && mistake.test(String(cause))) {
      const message = `\`fetch\` must return a Response: ${cause.message}`;
      return { failure: { kind: "response", facts: { code: "invalid_response", message, cause } } };
    }
    const message = `No complete response arrived from ${baseUrl}: ${reasonOf(cause).replace(/\.$/, "")}.`;
    const facts = { code: "connection_failed", message, cause };
    return { failure: { kind: "connection", facts, isLost: true } };
  } finally {
    clearTimeout(timer);
    forget();
  }
}

/**
 * Matches errors caused by a mistake in the code of `fetch` or in the response that it returned. Another attempt would
 * fail in the same way, and the service may have processed this one. Network errors do not match: Node's TypeErrors
 * have a `cause`, and those of Deno and browsers have other texts, such as "Name or service not known" or "Cannot
 * assign requested address".
 */
const mistake = /^(Ref|Syn|Type.*(annot [^a]|(not|be) (an? |of|.*iter)| lock|body [ahi]))/i;

/**
 * Returns the time limit of an attempt.
 *
 * @param of the configured limit in milliseconds, for the error message. `ms` may be less: the time that is left
 */
export const timeLimit = (
  ms: number,
  code: "attempt_timeout" | "deadline_exceeded",
  of: number,
): AttemptLimit => ({
  ms,
  failure: {
    kind: "timeout",
    facts: { code, message: `No successful response arrived within ${of / 1_000} s.` },
    isLost: true,
  },
});

/** Returns the failure of a request that its caller aborted. */
export const abortion = ({ reason }: AbortSignal): Failure => ({
  kind: "aborted",
  facts: { code: "aborted", message: "The request was aborted.", cause: reason },
});

/**
 * Returns the reason for an error: the message or the code of its `cause` if it has one, as `fetch failed` does,
 * otherwise its own.
 */
function reasonOf(error: Error): string {
  const { message, code } = (error.cause ?? error) as Error & { readonly code?: string };
  return message || code || error.message;
}
