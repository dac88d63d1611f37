import { AbortedError, ConnectionError, TimeoutError } from "../errors.js";
import type { Connection } from "../options.js";
import type { Failure } from "./failure.js";
import { maskedHeaders, plainError } from "./mask.js";

/** A whole response. */
export interface Received {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
}

/** Makes one attempt and reads its whole response. Never rejects. */
export async function makeAttempt(
  connection: Connection,
  path: string,
  init: RequestInit,
  limit: { readonly ms: number; readonly code: string },
  signal: AbortSignal | undefined,
): Promise<
  | { readonly received: Received; readonly failure?: undefined }
  | { readonly received?: undefined; readonly failure: Failure }
> {
  const controller = new AbortController();
  let end!: () => void;
  // An injected `fetch` may ignore its signal.
  const ended = new Promise<never>((_resolve, reject) => {
    end = () => {
      controller.abort();
      reject(new Error("The attempt was ended."));
    };
  });
  const timer = setTimeout(end, limit.ms);
  signal?.addEventListener("abort", end);
  if (signal?.aborted) end();
  try {
    const receiving = receive(connection, path, { ...init, signal: controller.signal });
    return { received: await Promise.race([receiving, ended]) };
  } catch (error) {
    if (signal?.aborted) return { failure: abortion(signal) };
    if (controller.signal.aborted) {
      const message = `There was no whole response within ${limit.ms / 1_000} s.`;
      const facts = { code: limit.code, message };
      return { failure: { type: TimeoutError, facts, isLost: true } };
    }
    const cause = plainError(error, connection.apiKey);
    const message = `There was no whole response from ${connection.baseUrl}: ${reasonOf(cause)}.`;
    const facts = { code: "connection_failed", message, cause };
    return { failure: { type: ConnectionError, facts, isLost: true } };
  } finally {
    clearTimeout(timer);
    signal?.removeEventListener("abort", end);
  }
}

/** The end of a request by its caller. */
export const abortion = ({ reason }: AbortSignal): Failure => ({
  type: AbortedError,
  facts: { code: "aborted", message: "The request was aborted.", cause: reason },
});

/** What `fetch` throws is a rejection too. */
async function receive(
  { fetch, apiKey, baseUrl }: Connection,
  path: string,
  init: RequestInit,
): Promise<Received> {
  const response = await fetch(baseUrl + path, init);
  const { status, headers } = response;
  return { status, headers: maskedHeaders(headers, apiKey), text: await response.text() };
}

/** `fetch failed` has its reason as its cause, and that one may have a code alone. */
function reasonOf(error: Error): string {
  const { message, code } = (error.cause ?? error) as Error & { readonly code?: string };
  return message || code || error.message;
}
