import type { Delivery } from "./delivery.js";
import { BodyError } from "./errors.js";
import { isBytes } from "./lib/bytes.js";
import type { Answer } from "./outcome.js";
import type { DeadlineCall } from "./store.js";

// The only file that knows these classes: everything web-standard comes in and goes out through it.

/**
 * A web-standard `Request` as a delivery, for adapters. The body is read when the receiver asks for
 * it: the exact bytes, at most its limit of them. Frameworks whose bodies can be consumed or cut
 * before add their own `fix`.
 */
export const toDelivery = (request: Request): Delivery => ({
  method: request.method,
  headers: request.headers,
  body: (limit, call) => readBody(request, limit, call),
  fix: "let nothing read the request before",
});

/** An answer as a `Response`, for adapters; to HEAD without its body. */
export const toResponse = (request: Request, { status, headers, body }: Answer): Response =>
  new Response(request.method === "HEAD" ? null : body, { status, headers });

async function readBody(request: Request, limit: number, call: DeadlineCall): Promise<Uint8Array> {
  const { headers } = request;
  try {
    // The server holds the sender to an announced length, and it was admitted: no need to count.
    // Unless it was framed otherwise: Transfer-Encoding overrides Content-Length (RFC 9112, section 6.3),
    // and node:http with `insecureHTTPParser` lets both through. Two lengths are joined by a comma.
    // `body` is looked at only then: servers make their streams when it is.
    // And `arrayBuffer` refuses what was read before, where the stream would be found empty.
    return request.bodyUsed ||
      (/^[1-9]\d*$/.test(headers.get("content-length") ?? "") &&
        !headers.has("transfer-encoding")) ||
      !request.body
      ? new Uint8Array(await request.arrayBuffer())
      : await readCounting(request.body, limit, call);
  } catch (error) {
    // A TypeError says that something else has the body (Fetch standard, "consume body"). Whatever
    // else goes wrong is the connection's: Deno, workerd and Vercel's edge do not tell the signal.
    const isTaken = (error as Error | undefined)?.name === "TypeError" && !request.signal?.aborted;
    throw isTaken || error instanceof BodyError ? error : new BodyError("aborted");
  }
}

/** Gathers the chunks in one buffer that grows: a list of 1,000,000 one-byte chunks took 1.2 GiB. */
async function readCounting(
  stream: ReadableStream<unknown>,
  limit: number,
  { signal }: DeadlineCall,
): Promise<Uint8Array> {
  const reader = stream.getReader();
  // Not awaited: the `cancel` of a stream may fail, or never settle. It ends a pending read.
  const cancel = () => void reader.cancel().catch(() => {});
  signal.addEventListener("abort", cancel);
  let bytes = new Uint8Array();
  let length = 0;
  let pieces = 0;
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return bytes.subarray(0, length);
      if (!isBytes(value)) throw new TypeError("a chunk of the body is not a Uint8Array");
      const start = length;
      length += value.length;
      // Empty chunks that are available immediately would keep `bodyTimeoutMs` from ever firing.
      if (length > limit || pieces++ > length + 1_024) throw new BodyError("body_too_large");
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
