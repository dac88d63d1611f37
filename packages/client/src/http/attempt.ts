import { AbortedError, ConnectionError, TimeoutError } from "../errors.js";
import type { Connection } from "../options.js";
import type { Failure } from "./failure.js";
import { plainError } from "./mask.js";

/** A whole response. */
export interface Received {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
}

/** Makes one attempt and reads its whole response. Never rejects. */
export async function makeAttempt(
  { fetch, apiKey, baseUrl }: Connection,
  path: string,
  init: RequestInit,
  limit: { readonly ms: number; readonly code: string },
  signal: AbortSignal | undefined,
): Promise<
  | { readonly received: Received; readonly failure?: undefined }
  | { readonly received?: undefined; readonly failure: Failure }
> {
  const controller = new AbortController();
  const abort = () => controller.abort();
  const timer = setTimeout(abort, limit.ms);
  signal?.addEventListener("abort", abort);
  if (signal?.aborted) abort();
  try {
    const responding = fetch(baseUrl + path, { ...init, signal: controller.signal });
    // An injected `fetch` may ignore its signal.
    const received = await Promise.race([receive(responding), rejection(controller.signal)]);
    return { received };
  } catch (error) {
    if (signal?.aborted) return { failure: abortion(signal) };
    if (controller.signal.aborted) {
      const message = `There was no whole response within ${limit.ms / 1_000} s.`;
      const facts = { code: limit.code, message };
      return { failure: { type: TimeoutError, facts, isLost: true } };
    }
    const cause = plainError(error, apiKey);
    const message = `There was no whole response from ${baseUrl}: ${reasonOf(cause)}.`;
    const facts = { code: "connection_failed", message, cause };
    return { failure: { type: ConnectionError, facts, isLost: true } };
  } finally {
    clearTimeout(timer);
    signal?.removeEventListener("abort", abort);
  }
}

/** The end of a request by its caller. */
export const abortion = ({ reason }: AbortSignal): Failure => ({
  type: AbortedError,
  facts: { code: "aborted", message: "The request was aborted.", cause: reason },
});

async function receive(responding: Promise<Response>): Promise<Received> {
  const response = await responding;
  const { status, headers } = response;
  return { status, headers, text: await response.text() };
}

const rejection = (signal: AbortSignal) =>
  new Promise<never>((_resolve, reject) => {
    const end = () => reject(new Error("The attempt was ended."));
    signal.addEventListener("abort", end);
    if (signal.aborted) end();
  });

/** `fetch failed` has its reason as its cause, and that one may have a code alone. */
function reasonOf(error: Error): string {
  const { message, code } = (error.cause ?? error) as Error & { readonly code?: string };
  return message || code || error.message;
}
