import type { Delivery } from "./delivery.js";
import { BodyError } from "./errors.js";
import type { Answer } from "./pipeline/answer.js";

/** A web-standard `Request` as a delivery. The only file, with its twin below, that knows these classes. */
export function toDelivery(request: Request): Delivery {
  return {
    method: request.method,
    headers: request.headers,
    body: (limit) => readBody(request, limit),
  };
}

/** An answer as a `Response`; to HEAD without its body. */
export const toResponse = (request: Request, { status, headers, body }: Answer): Response =>
  new Response(request.method === "HEAD" ? null : body, { status, headers });

async function readBody(request: Request, limit: number): Promise<Uint8Array> {
  const { body, bodyUsed, headers, signal } = request;
  if (bodyUsed) throw new BodyError("body_unavailable", "the request was read before");
  try {
    // The server holds the sender to an announced length, and it was admitted: no need to count along.
    return !body || Number(headers.get("content-length")) > 0
      ? new Uint8Array(await request.arrayBuffer())
      : await readCounting(body, limit);
  } catch (error) {
    throw signal?.aborted ? new BodyError("aborted") : error;
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
