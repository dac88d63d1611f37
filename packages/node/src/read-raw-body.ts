import type { IncomingMessage } from "node:http";
import { BodyError } from "@svc-webhooks/core";

/** A request as middleware may have left it. */
interface TouchedRequest extends IncomingMessage {
  readonly body?: unknown;
  readonly rawBody?: unknown;
}

/**
 * The exact bytes of a request: those a middleware kept in `req.body` or `req.rawBody`, else the
 * stream's, if nothing has read it, whatever `req.body` holds.
 *
 * @param limit stop as soon as more bytes than this have come
 * @throws BodyError as a rejection: `body_too_large`, `aborted` (the client went away), `body_unavailable`
 */
export async function readRawBody(request: IncomingMessage, limit: number): Promise<Uint8Array> {
  const { body, rawBody }: TouchedRequest = request;
  if (body instanceof Uint8Array) return body;
  if (rawBody instanceof Uint8Array) return rawBody;
  // Not by the shape of `body`: Express 4 parsers leave `{}` on streams they never read.
  if (request.readableDidRead) throw new BodyError("body_unavailable", found(body, rawBody));
  // It has ended and gave nothing to read: there was no body.
  if (request.readableEnded) return new Uint8Array();
  if (request.destroyed) throw new BodyError("aborted");
  return readStream(request, limit);
}

function readStream(request: IncomingMessage, limit: number): Promise<Uint8Array> {
  if (request.readableEncoding) {
    throw new BodyError("body_unavailable", "request.setEncoding() was called");
  }
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let length = 0;
    const take = (chunk: Buffer) => {
      chunks.push(chunk);
      length += chunk.length;
      if (length <= limit) return;
      reject(new BodyError("body_too_large"));
      // What is still to come is read and dropped, or the connection could not be used again.
      request.off("data", take).resume();
    };
    const end = () => {
      const [first] = chunks;
      resolve(first && chunks.length === 1 ? first : Buffer.concat(chunks));
    };
    const abort = () => {
      if (!request.readableEnded) reject(new BodyError("aborted"));
    };
    request.on("data", take).once("end", end).once("error", abort).once("close", abort);
    // Middleware may have paused it.
    request.resume();
  });
}

function found(body: unknown, rawBody: unknown): string {
  if (rawBody !== undefined) return `req.rawBody holds ${kindOf(rawBody)}, not bytes`;
  if (body !== undefined)
    return `a body parser has left ${kindOf(body)} in req.body, the bytes are gone`;
  return "the request stream has been read before";
}

const kindOf = (value: unknown) => (typeof value === "string" ? "text" : "a parsed value");
