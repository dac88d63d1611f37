import type { Delivery } from "./delivery.js";
import { BodyError } from "./errors.js";
import { isBytes } from "./lib/bytes.js";
import type { Answer } from "./outcome.js";
import type { DeadlineCall } from "./store.js";

// In the core, only this file reads a `Request` or creates a `Response`; all other code uses `Delivery` and `Answer`.

/**
 * Converts a web-standard `Request` to a delivery, for adapters. The body is read only when the receiver needs it, up
 * to `maxBodyBytes`. If a framework may consume or truncate the body before the receiver reads it, its adapter replaces
 * the delivery's `fix` with advice for that framework.
 *
 * @example
 * ```ts
 * import assert from "node:assert/strict";
 * import { answer, createReceiver } from "svc-webhooks";
 * import { toDelivery, toResponse } from "svc-webhooks/adapter";
 *
 * const receiver = createReceiver({ secret: process.env.SVC_WEBHOOK_SECRET ?? "", on: { "*": () => {} } });
 *
 * // The same as `receiver.fetch`.
 * async function handle(request: Request): Promise<Response> {
 *   const outcome = await receiver.receive(toDelivery(request));
 *   return toResponse(request, answer(outcome));
 * }
 *
 * const unsigned = new Request("https://example.org/webhooks", { method: "POST" });
 * assert.equal((await handle(unsigned)).status, 401);
 * ```
 */
export const toDelivery = (request: Request): Delivery => ({
  method: request.method,
  // Not read for a POST, because some servers build the text on each access.
  url: request.method === "GET" ? request.url : "",
  headers: request.headers,
  body: (limit, call) => readBody(request, limit, call),
  fix: "let nothing read the request before the receiver",
});

/**
 * Converts the result of `answer()` to a `Response`, for adapters. The response to HEAD has no
 * body.
 *
 * @example
 * ```ts
 * import assert from "node:assert/strict";
 * import { answer, createReceiver } from "svc-webhooks";
 * import { toDelivery, toResponse } from "svc-webhooks/adapter";
 *
 * const receiver = createReceiver({ secret: process.env.SVC_WEBHOOK_SECRET ?? "", on: { "*": () => {} } });
 *
 * const request = new Request("https://example.org/webhooks", { method: "GET" });
 * const outcome = await receiver.receive(toDelivery(request));
 * const response = toResponse(request, answer(outcome));
 * assert.equal(response.status, 405);
 * assert.equal(response.headers.get("allow"), "POST");
 * ```
 */
export const toResponse = (request: Request, { status, headers, body }: Answer): Response =>
  new Response(request.method === "HEAD" || !body ? null : body, { status, headers });

async function readBody(request: Request, limit: number, call: DeadlineCall): Promise<Uint8Array> {
  const { headers } = request;
  try {
    // A body with one valid Content-Length needs no counting: servers enforce the length, and `admit` has compared it
    // with the limit. Two lengths arrive joined by a comma, and Transfer-Encoding overrides the length (RFC 9112,
    // section 6.3; node:http with `insecureHTTPParser` accepts the two headers together), so such bodies are counted.
    // The property `body` is read last, because reading it makes servers create the stream. If the body was read
    // before, `arrayBuffer` is called, because it rejects, whereas the stream would only be empty.
    return request.bodyUsed ||
      (/^[1-9]\d*$/.test(headers.get("content-length") ?? "") &&
        !headers.has("transfer-encoding")) ||
      !request.body
      ? new Uint8Array(await request.arrayBuffer())
      : await readCounting(request.body, limit, call);
  } catch (error) {
    // A TypeError means that other code consumed the body (Fetch standard, "consume body"), unless the request's signal
    // is aborted. Any other error comes from the connection and becomes `aborted`. The signal alone does not reveal a
    // lost connection: Deno, workerd and Vercel's edge do not abort it.
    const isConsumed =
      (error as Error | undefined)?.name === "TypeError" && !request.signal?.aborted;
    throw isConsumed || error instanceof BodyError ? error : new BodyError("aborted");
  }
}

/** Reads up to `limit` bytes into one growing buffer: a list of 1,000,000 one-byte chunks would need 1.2 GiB. */
async function readCounting(
  stream: ReadableStream<unknown>,
  limit: number,
  { signal }: DeadlineCall,
): Promise<Uint8Array> {
  const reader = stream.getReader();
  // Canceling ends a pending read. It is not awaited, because the `cancel` of a stream may never settle.
  const cancel = () => void reader.cancel().catch(() => {});
  signal.addEventListener("abort", cancel);
  let bytes = new Uint8Array();
  let length = 0;
  let chunks = 0;
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return bytes.subarray(0, length);
      if (!isBytes(value)) throw new TypeError("a chunk of the body is not a Uint8Array");
      const start = length;
      length += value.length;
      // The chunks are counted too, because an endless supply of empty ones would keep the event loop from ever running
      // the timer of `bodyTimeoutMs`.
      if (length > limit || chunks++ > length + 1_024) throw new BodyError("body_too_large");
      if (length > bytes.length) {
        const larger = new Uint8Array(Math.min(limit, start + length));
        larger.set(bytes);
        bytes = larger;
      }
      bytes.set(value, start);
    }
  } finally {
    cancel();
  }
}
