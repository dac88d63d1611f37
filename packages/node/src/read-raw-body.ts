import type { IncomingMessage } from "node:http";
import { BodyError } from "@svc-webhooks/core";
import getRawBody from "raw-body";

/** A request as middleware may have left it. */
interface TouchedRequest extends IncomingMessage {
  readonly body?: unknown;
  readonly rawBody?: unknown;
  /** Deprecated in `node:http`, and the only sign of a reset stream in `node:http2`. */
  readonly aborted: boolean;
}

/**
 * The exact bytes of a request: those a middleware kept in `req.body` or `req.rawBody`, else the
 * stream's, if nothing has read it, whatever `req.body` holds.
 *
 * @param limit stop as soon as more bytes than this have come
 * @throws BodyError as a rejection: `body_too_large` (also for more than 1,024 pieces plus one for
 *   every 64 bytes), `aborted` (the client went away), `body_unavailable`
 */
export async function readRawBody(request: IncomingMessage, limit: number): Promise<Uint8Array> {
  const { body, rawBody, aborted }: TouchedRequest = request;
  if (isBytes(body)) return body;
  if (isBytes(rawBody)) return rawBody;
  // Not by the shape of `body`: Express 4 parsers leave `{}` on streams they never read.
  if (request.readableDidRead) throw new BodyError("body_unavailable", found(body, rawBody));
  // It has ended and gave nothing to read: there was no body.
  if (request.readableEnded) return new Uint8Array();
  if (request.destroyed || aborted) throw new BodyError("aborted");
  return readStream(request, limit);
}

/**
 * Reads with raw-body, which gets a guard in place of the request. On its own it would list every
 * piece (1,000,000 chunks of one byte took 400 MiB), throw in its `end` listener if a piece was text,
 * and never call back for a request that is closed early.
 */
function readStream(request: IncomingMessage, limit: number): Promise<Uint8Array> {
  if (request.readableEncoding) throw new BodyError("body_unavailable", notBytes(""));
  return new Promise((resolve, reject) => {
    // raw-body removes its listeners before it calls back; from then on nothing is forwarded.
    const listeners: Record<string, ((value?: unknown) => void) | undefined> = {};
    let pieces = 0;
    let bytes = 0;
    const take = (chunk: unknown) => {
      if (!isBytes(chunk)) return fail(new BodyError("body_unavailable", notBytes(chunk)));
      pieces += 1;
      bytes += chunk.length;
      if (pieces > 1024 + bytes / 64) fail(new BodyError("body_too_large"));
      else listeners["data"]?.(chunk);
    };
    const fail = (error: unknown) => listeners["error"]?.(error);
    const end = () => {
      // A request of `node:http2` ends when its stream is reset.
      if ((request as TouchedRequest).aborted) return abort();
      try {
        listeners["end"]?.();
      } catch (error) {
        // There was no memory to put the pieces together.
        fail(error);
      }
    };
    const abort = () => {
      if (listeners["error"]) fail(new BodyError("aborted"));
    };
    const guard = {
      on: (name: string, listener: () => void) => (listeners[name] = listener),
      removeListener: (name: string) => (listeners[name] = undefined),
      unpipe() {},
    };
    // Of a stream, raw-body uses no more than these three.
    getRawBody(guard as unknown as NodeJS.ReadableStream, { limit }, (error, body) => {
      if (!error) return resolve(body);
      // What is still to come is read and dropped, or the connection could not be used again.
      request.off("data", take);
      reject(error.type === "entity.too.large" ? new BodyError("body_too_large") : error);
    });
    request.on("data", take).once("end", end).once("error", abort).once("close", abort);
    // Middleware may have paused it.
    request.resume();
  });
}

const notBytes = (chunk: unknown) =>
  typeof chunk === "string"
    ? "request.setEncoding() was called"
    : "the request stream gives no bytes";

/** By its tag, not its class: test environments have several `Uint8Array`. */
const isBytes = (value: unknown): value is Uint8Array =>
  (value as Partial<Uint8Array> | null | undefined)?.[Symbol.toStringTag] === "Uint8Array";

function found(body: unknown, rawBody: unknown): string {
  if (rawBody !== undefined) return `req.rawBody holds ${kindOf(rawBody)}, not bytes`;
  if (body !== undefined)
    return `a body parser has left ${kindOf(body)} in req.body, the bytes are gone`;
  return "the request stream has been read before";
}

const kindOf = (value: unknown) => (typeof value === "string" ? "text" : "a parsed value");
