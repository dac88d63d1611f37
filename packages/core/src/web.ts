import type { Delivery } from "./delivery.js";
import { BodyError } from "./errors.js";
import type { Answer } from "./pipeline/answer.js";

// The only file that knows these classes: everything web-standard comes in and goes out through it.

/**
 * A web-standard `Request` as a delivery, for adapters. The body is read when the receiver asks for
 * it: the exact bytes, at most its limit of them. Frameworks whose bodies can be consumed or cut
 * before add their own `fix`.
 */
export const toDelivery = (request: Request): Delivery => ({
  method: request.method,
  headers: request.headers,
  body: (limit) => readBody(request, limit),
  fix: "let nothing read the request before",
});

/** An answer as a `Response`, for adapters; to HEAD without its body. */
export const toResponse = (request: Request, { status, headers, body }: Answer): Response =>
  new Response(request.method === "HEAD" ? null : body, { status, headers });

async function readBody(request: Request, limit: number): Promise<Uint8Array> {
  try {
    // The server holds the sender to an announced length, and it was admitted: no need to count along.
    // `body` is looked at only without one: servers make their streams when it is.
    // And `arrayBuffer` refuses what was read before, where the stream would be found empty.
    return request.bodyUsed || Number(request.headers.get("content-length")) > 0 || !request.body
      ? new Uint8Array(await request.arrayBuffer())
      : await readCounting(request.body, limit);
  } catch (error) {
    // A TypeError says that something else has the body (Fetch standard, "consume body"). Whatever
    // else goes wrong is the connection's: Deno, workerd and Vercel's edge do not tell the signal.
    const isTaken = (error as Error | undefined)?.name === "TypeError" && !request.signal?.aborted;
    throw isTaken || error instanceof BodyError ? error : new BodyError("aborted");
  }
}

async function readCounting(
  stream: ReadableStream<Uint8Array<ArrayBuffer>>,
  limit: number,
): Promise<Uint8Array> {
  const chunks: Uint8Array<ArrayBuffer>[] = [];
  let length = 0;
  // Leaving the loop early cancels the stream.
  for await (const chunk of stream) {
    length += chunk.length;
    if (length > limit) throw new BodyError("body_too_large");
    chunks.push(chunk);
  }
  return new Uint8Array(await new Blob(chunks).arrayBuffer());
}
