import type { IncomingMessage } from "node:http";
import { BodyError, type DeadlineCall, type MaybePromise } from "@svc-webhooks/core";
import getRawBody from "raw-body";
import { frameworkFix } from "./framework-fix.js";

/** A request that middleware may have modified. */
interface TouchedRequest extends IncomingMessage {
  readonly body?: unknown;
  readonly rawBody?: unknown;
  /**
   * Whether the request was aborted. Deprecated in `node:http`, but the only sign of a reset stream in
   * `node:http2`.
   */
  readonly aborted: boolean;
}

/** A read of a request's stream, while it is in progress. */
export interface Reading {
  /**
   * Releases the bytes read so far and rejects the read with `aborted`. Set once reading has started; has no effect
   * after it has finished.
   */
  stop?: () => void;
}

/**
 * Resolves to the exact bytes of a request's body: those that middleware kept in `req.body` or `req.rawBody`, otherwise
 * those of the stream if nothing has read it yet, even if `req.body` contains some other value.
 *
 * @param limit the maximum size of a body that is read from the stream, in bytes; reading stops as soon as more have
 *   arrived
 * @param call the second argument of a receiver's body reader: once `call.signal` is aborted, or if it is already,
 *   reading stops and the bytes are released; default: reading is not stopped
 * @throws BodyError as a rejection: `body_too_large` (also if the body arrives in more than 1,024 pieces plus one for
 *   every 64 bytes), `aborted` (the client disconnected, or the signal was aborted), `body_unavailable`
 *
 * @example
 * ```ts
 * import { createServer } from "node:http";
 * import { answer, createReceiver } from "svc-webhooks";
 * import { readRawBody } from "svc-webhooks/node";
 *
 * const receiver = createReceiver({ secret: process.env.SVC_WEBHOOK_SECRET ?? "", on: { "*": () => {} } });
 *
 * createServer(async (request, response) => {
 *   const outcome = await receiver.receive({
 *     method: request.method ?? "",
 *     headers: request.headers,
 *     body: (limit, call) => readRawBody(request, limit, call),
 *   });
 *   const { status, headers, body } = answer(outcome);
 *   response.writeHead(status, headers);
 *   response.end(body);
 * }).listen(3000);
 * ```
 */
export async function readRawBody(
  request: IncomingMessage,
  limit: number,
  call?: DeadlineCall,
): Promise<Uint8Array> {
  // A signal that is already aborted emits no event, so it is checked first.
  if (call?.signal.aborted) throw new BodyError("aborted");
  const reading: Reading = {};
  call?.signal.addEventListener("abort", () => reading.stop?.(), { once: true });
  return readBody(request, limit, reading);
}

/**
 * Reads like {@link readRawBody}, but is stopped through `reading`, because creating and watching a signal took 4.7 µs
 * per request. Returns bytes synchronously if they are already available, and throws synchronously if the body can no
 * longer be read: an `async` function would add a promise to each request.
 */
export function readBody(
  request: IncomingMessage,
  limit: number,
  reading: Reading,
): MaybePromise<Uint8Array> {
  const { body, rawBody, aborted }: TouchedRequest = request;
  if (isBytes(body)) return body;
  if (isBytes(rawBody)) return rawBody;
  // Checks the stream, because `body` proves nothing: the parsers of Express 4 set it to `{}` even if they do not read
  // the stream.
  if (request.readableDidRead) throw new BodyError("body_unavailable", whyConsumed(body, rawBody));
  // The stream ended without data: there was no body.
  if (request.readableEnded) return new Uint8Array();
  if (request.destroyed || aborted) throw new BodyError("aborted");
  return readStream(request, limit, reading);
}

/**
 * Reads the stream. A body that arrives as one chunk, as most small ones do, is that chunk; any other is passed on to
 * raw-body.
 */
function readStream(
  request: IncomingMessage,
  limit: number,
  reading: Reading,
): Promise<Uint8Array> {
  if (request.readableEncoding) throw new BodyError("body_unavailable", notBytes(""));
  return new Promise((resolve, reject) => {
    let whole: Uint8Array | undefined;
    let joined: ChunkReader | undefined;
    let isOpen = true;
    const settle = (error: unknown, bytes?: Uint8Array) => {
      isOpen = false;
      whole = joined = undefined;
      if (bytes) return resolve(bytes);
      // The rest of the body is read and discarded; otherwise the connection could not be reused.
      request.off("data", take);
      reject(error);
    };
    const abort = () => {
      if (isOpen) settle(new BodyError("aborted"));
    };
    const take = (chunk: unknown) => {
      if (!isOpen) return;
      if (!joined && !whole && isWholeBody(request, chunk, limit)) {
        whole = chunk;
        return;
      }
      joined ??= joinChunks(limit, settle);
      // The body is longer than its Content-Length.
      if (whole) joined.take(whole);
      whole = undefined;
      joined.take(chunk);
    };
    const end = () => {
      if (!isOpen) return;
      // A `node:http2` request emits `end` even if its stream is reset, but the body is not complete then.
      if ((request as TouchedRequest).aborted) return abort();
      if (whole) settle(undefined, whole);
      else (joined ?? joinChunks(limit, settle)).end();
    };
    reading.stop = abort;
    // Other listeners of `data` are counted now, because one added with `once` is removed before its chunk arrives
    // here.
    if (request.listenerCount("data")) joined = joinChunks(limit, settle);
    // `once` would create a wrapper for each listener, and is not needed: no listener has an effect after the end.
    request.on("data", take);
    request.on("end", end);
    request.on("error", abort);
    request.on("close", abort);
    // Middleware may have paused the request, so it is resumed explicitly.
    request.resume();
  });
}

/**
 * The maximum number of bytes that a chunk may keep in memory beyond its own: chunks are views of read buffers of up to
 * 64 KiB.
 */
const mostUnused = 8_192;

/** Returns whether a chunk is a whole body that nothing else can change and that keeps little else in memory. */
function isWholeBody(request: IncomingMessage, chunk: unknown, limit: number): chunk is Uint8Array {
  // The cast is needed because the request may come from other code than `node:http`.
  const headers = request.headers as IncomingMessage["headers"] | undefined;
  return (
    isBytes(chunk) &&
    chunk.length === Number(headers?.["content-length"]) &&
    chunk.length <= limit &&
    chunk.buffer.byteLength <= chunk.length + mostUnused &&
    request.listenerCount("data") === 1 &&
    request.listenerCount("readable") === 0
  );
}

/** Reads a body from its chunks. */
interface ChunkReader {
  readonly take: (chunk: unknown) => void;
  readonly end: () => void;
}

/**
 * Joins chunks with raw-body, which reads from a guard, a minimal stream, instead of the request. Without the guard,
 * raw-body would accept any number of chunks (1,000,000 one-byte chunks took 400 MiB), throw in its `end` listener if a
 * chunk was text, return an incomplete body if a stream of HTTP/2 was reset, and never settle if the request emitted
 * `close` without `aborted`.
 */
function joinChunks(
  limit: number,
  settle: (error: unknown, bytes?: Uint8Array) => void,
): ChunkReader {
  // raw-body adds its listeners to the guard immediately, and removes them before it settles. After that, the guard
  // forwards nothing.
  const listeners: Record<string, ((value?: unknown) => void) | undefined> = {};
  const guard = {
    on: (name: string, listener: () => void) => (listeners[name] = listener),
    removeListener: (name: string) => (listeners[name] = undefined),
    unpipe() {},
  };
  const fail = (error: unknown) => listeners["error"]?.(error);
  let pieces = 0;
  let bytes = 0;
  // The cast is safe, because raw-body uses only these three methods of a stream.
  getRawBody(guard as unknown as NodeJS.ReadableStream, { limit }, (error, body) => {
    settle(error?.type === "entity.too.large" ? new BodyError("body_too_large") : error, body);
  });
  return {
    take(chunk) {
      if (!listeners["data"]) return;
      if (!isBytes(chunk)) return fail(new BodyError("body_unavailable", notBytes(chunk)));
      pieces += 1;
      bytes += chunk.length;
      if (pieces > 1024 + bytes / 64) fail(new BodyError("body_too_large"));
      else listeners["data"](chunk);
    },
    end() {
      try {
        listeners["end"]?.();
      } catch (error) {
        // raw-body had too little memory to join the chunks.
        fail(error);
      }
    },
  };
}

const notBytes = (chunk: unknown) =>
  typeof chunk === "string"
    ? "request.setEncoding() was called"
    : "the request stream does not contain bytes";

/** Checks the tag, not the class: test environments have several `Uint8Array` classes. */
const isBytes = (value: unknown): value is Uint8Array =>
  (value as Partial<Uint8Array> | null | undefined)?.[Symbol.toStringTag] === "Uint8Array";

function whyConsumed(body: unknown, rawBody: unknown): string {
  const fix = frameworkFix();
  return fix ? `${causeOf(body, rawBody)}; ${fix}` : causeOf(body, rawBody);
}

function causeOf(body: unknown, rawBody: unknown): string {
  if (rawBody !== undefined) return `req.rawBody holds ${kindOf(rawBody)}, not bytes`;
  if (body !== undefined)
    return `a body parser has left ${kindOf(body)} in req.body and discarded the bytes`;
  return "the request stream has been read before";
}

const kindOf = (value: unknown) => (typeof value === "string" ? "text" : "a parsed value");
