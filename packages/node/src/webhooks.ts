import type { IncomingMessage, ServerResponse } from "node:http";
import type { Writable } from "node:stream";
import {
  answer,
  ConfigError,
  type Answer,
  type Delivery,
  type MaybePromise,
  type Outcome,
  type OutcomeCode,
  type Receiver,
} from "@svc-webhooks/core";
import { assertOptions, assertReceiver, assertValid } from "@svc-webhooks/core/adapter";
import { readBody, type Reading } from "./read-raw-body.js";

/**
 * Handles a request from `node:http`, from the compatibility API of `node:http2`, or from a framework built on either.
 * Rejects only if `request` is something else, with ConfigError `invalid_option`.
 */
export type NodeHandler = (request: IncomingMessage, response: ServerResponse) => Promise<void>;

export interface NodeOptions {
  /**
   * The fix that ends the log line of `body_unavailable`, as a clause without a period. Adapters that use `webhooks`
   * pass the fix for their framework. Default: "let the receiver read the request first". Errors: `invalid_option`.
   */
  readonly fix?: string | undefined;
}

/**
 * Mounts a receiver in `node:http`: `createServer(webhooks(receiver))`. The receiver responds to every request that
 * reaches it, so mount it behind your routing. The response to a delivery that waits for nothing is sent before the
 * request listener returns.
 *
 * On HTTP/1, the connection is closed if a body does not arrive in time (`body_timeout`). On HTTP/2, the stream of any
 * unfinished body is closed (`NO_ERROR`) as soon as the response has been sent.
 *
 * @throws ConfigError `invalid_option` if `receiver` is not a receiver, or for an invalid option;
 *   `unknown_option`
 *
 * @example
 * ```ts
 * import { createServer } from "node:http";
 * import { createReceiver } from "svc-webhooks";
 * import { webhooks } from "svc-webhooks/node";
 *
 * const receiver = createReceiver({
 *   secret: process.env.SVC_WEBHOOK_SECRET ?? "",
 *   on: { "*": (event) => console.log(event.type) },
 * });
 *
 * createServer(webhooks(receiver)).listen(3000);
 * ```
 */
export function webhooks(
  receiver: Pick<Receiver, "receive">,
  options: NodeOptions = {},
): NodeHandler {
  assertReceiver(receiver);
  assertOptions(options, ["fix"]);
  const { fix = "let the receiver read the request first" } = options;
  assertValid(typeof fix === "string", "fix", "`fix` must be a string.");
  // Not an `async` function, which would create a promise for each `await`.
  return (request, response) => {
    if (typeof request?.on !== "function") return rejected();
    const reading: Reading = {};
    // Reads `headers` only once, because each read calls a getter.
    const { headers } = request;
    // Read before the receiver is called, because middleware that begins the response later, for example after a
    // timeout, also ends the response.
    const isBegun = response.headersSent;
    const exchange: Exchange = { request, response, reading, isBegun };
    try {
      const outcome = receiveDirectly(receiver, {
        method: request.method ?? "",
        url: request.url,
        headers: (name) => headers[name],
        body: (limit) => readBody(request, limit, reading),
        fix,
      });
      if (isPromise(outcome)) {
        // Converted to a promise, because a wrapped receiver may return a thenable that settles twice.
        return Promise.resolve(outcome).then(
          (known) => respond(exchange, known),
          (error: unknown) => giveUp(exchange, error),
        );
      }
      respond(exchange, outcome);
    } catch (error) {
      giveUp(exchange, error);
    }
    return responded;
  };
}

const responded = Promise.resolve();

/** A request with its response. */
interface Exchange {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly reading: Reading;
  /** Whether other code had sent the headers of the response before the receiver was called. */
  readonly isBegun: boolean;
}

async function rejected(): Promise<never> {
  const text = "`request` and `response` must be the raw objects from node:http.";
  throw new ConfigError("invalid_option", "request", text);
}

const directKey = Symbol.for("svc-webhooks.direct");

/** The core's own `receive` has a method that returns undefined if it is called on a function that wraps `receive`. */
interface DirectReceiver extends Pick<Receiver, "receive"> {
  readonly receive: Receiver["receive"] & {
    readonly [directKey]?: (delivery: Delivery) => MaybePromise<Outcome> | undefined;
  };
}

/** Receives a delivery, without a promise if `receive` is that of the core and the delivery waits for nothing. */
const receiveDirectly = (receiver: DirectReceiver, delivery: Delivery): MaybePromise<Outcome> =>
  receiver.receive[directKey]?.(delivery) ?? receiver.receive(delivery);

const isPromise = <T>(value: MaybePromise<T>): value is Promise<T> =>
  typeof (value as Promise<T> | undefined)?.then === "function";

function respond(exchange: Exchange, outcome: Outcome): void {
  const { request, response, reading } = exchange;
  try {
    const isLate = outcome.code === "body_timeout";
    // The bytes are released now, because the response may have to wait for earlier responses on its connection.
    if (isLate) reading.stop?.();
    send(exchange, outcome, isLate);
    stopWaiting(request, response, isLate);
  } catch (error) {
    giveUp(exchange, error);
  }
}

/**
 * Reports an error, for example of middleware that has patched the response, and destroys the response, because the
 * sender would otherwise wait forever.
 */
function giveUp({ response }: Exchange, error: unknown): void {
  report(error);
  // Passes the error, because HTTP/2 would otherwise end the response as if it were complete.
  response.destroy(error as Error);
}

function send({ request, response, isBegun }: Exchange, outcome: Outcome, isLate: boolean): void {
  // Sends nothing if the client has disconnected, if other code has ended the response, or if other code has sent the
  // headers in the meantime and will end it.
  if (response.destroyed || response.writableEnded || response.headersSent !== isBegun) return;
  const { status, headers, body } = framed(outcome);
  if (isBegun) {
    const error = new Error("middleware sent the headers");
    // The sender must not mistake the middleware's status for that of the outcome.
    if (response.statusCode !== status) throw error;
    report(error);
  } else {
    // Passes a copy, because middleware may have replaced `writeHead` with a method that changes the headers. Made with
    // `Object.assign`, because Node iterates more slowly over an object that a spread has created.
    const all: Record<string, string> = Object.assign({}, headers);
    // Only HTTP/1 has the `Connection` header.
    if (isLate && request.httpVersionMajor === 1) all["Connection"] = "close";
    // The calls are not chained, because middleware may have replaced a method with one that returns nothing.
    response.writeHead(status, all);
  }
  response.end(body);
}

// The answers that most deliveries have, and that depend only on the code of the outcome.
const kept = new Map<OutcomeCode, Answer>();
const keptCodes = new Set<OutcomeCode>(["processed", "duplicate", "ignored", "enqueued"]);

/** Returns the answer to an outcome, with a `Content-Length`. */
function framed(outcome: Outcome): Answer {
  const { code, status, retryAfterMs, reply } = outcome;
  // A receiver that wraps another may change any part of an outcome.
  const isKept = keptCodes.has(code) && retryAfterMs === undefined && reply === undefined;
  const known = isKept ? kept.get(code) : undefined;
  if (known?.status === status) return known;
  const { headers, ...rest } = answer(outcome);
  // A 204 must not have a Content-Length (RFC 9110, section 8.6).
  const length = rest.body ? { "Content-Length": String(Buffer.byteLength(rest.body)) } : {};
  const made = { ...rest, headers: { ...length, ...headers } };
  if (isKept) kept.set(code, made);
  return made;
}

const report = (error: unknown) =>
  console.error("svc-webhooks: the response is incomplete:", error);

/**
 * Stops waiting for the rest of a body: closes the stream on HTTP/2, or the connection on HTTP/1 if the body is late.
 * Otherwise, the rest of an HTTP/1 body is read and discarded, so that the connection can be reused; the server's
 * `requestTimeout` applies to a body that never completes.
 */
function stopWaiting(request: IncomingMessage, response: ServerResponse, isLate: boolean): void {
  const { stream } = request as IncomingMessage & Partial<Http2Request>;
  if (!stream) {
    if (isLate) whenFinished(response, () => request.destroy());
  } else if (!request.complete) {
    // HTTP/2 sends the end of a response up to two event-loop turns later (seen on Node 20.20). Closing the stream
    // before that would lose it.
    whenFinished(stream, () => setImmediate(() => setImmediate(() => stream.close())));
  }
}

/** The property that only `node:http2` requests have. */
interface Http2Request {
  readonly stream: Writable & { close(): void };
}

const whenFinished = (stream: Writable, then: () => unknown) =>
  stream.writableFinished ? then() : stream.once("finish", then);
