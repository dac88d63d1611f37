import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { answer, type OutcomeCode, type Secret } from "@svc-webhooks/core";
import { codeOf } from "@svc-webhooks/core/adapter";
import type { Judgment } from "@svc-webhooks/explain/senders";
import { readRawBody } from "@svc-webhooks/node";
import type { Sender } from "@svc-webhooks/schemes/senders";
import { isRefusal, messageOf } from "../errors.js";
import type { Captured } from "../lib/capture.js";
import { passedHeaders } from "../lib/delivery-headers.js";
import { listenLocally } from "../lib/listen-locally.js";
import { outcomeIn } from "../lib/outcome.js";
import { readUpTo } from "../lib/read.js";
import { respond } from "../lib/respond.js";
import type { HeaderList, Target } from "../lib/target.js";
import { ConnectionError } from "../lib/tls.js";
import { verifierOf, type Verified, type Verifier } from "../schemes/verifier.js";

/** The target's response. */
export interface TargetReply {
  readonly status: number;
  /** The response body, or an empty string if the body is compressed. */
  readonly text: string;
  /** The outcome code that an svc-webhooks receiver states in its response. Undefined for any other response. */
  readonly code: OutcomeCode | undefined;
}

/** One request and its result. */
export interface Received extends Omit<Captured, "body">, Verified {
  /** The body of the request. Undefined if it was too large, or could not be read or verified. */
  readonly body: Buffer | undefined;
  /** The status of the response. */
  readonly status: number;
  readonly target?: TargetReply;
  /** The reason why the target returned no usable response, or why the request was not saved. */
  readonly error?: string | undefined;
}

export interface ListenOptions {
  readonly port: number;
  readonly sender: Sender;
  /**
   * Called with the server's URL as soon as it listens. Resolves to the secrets that verify deliveries to this URL.
   * Deliveries that arrive earlier wait for them.
   */
  readonly secretsFor: (url: string) => Promise<readonly Secret[]>;
  readonly maxBytes: number;
  readonly target: Target | undefined;
  /**
   * Called for every request whose body was read, before the request is forwarded. If it rejects, the response is 503,
   * and the request is not forwarded. It may resolve to the reason why the request is not saved, which does not change
   * the response.
   */
  readonly save: (captured: Captured) => Promise<string | undefined>;
  /** Called after the response has been written. Not called if there is no response because `signal` is aborted. */
  readonly onReceived: (received: Received) => void;
  readonly signal: AbortSignal;
  /**
   * How long a client may take to send the headers of a request, in milliseconds. After that, the server closes the
   * connection, so that idle ones do not use up `maxConnections`. Default: 5,000.
   */
  readonly headersMs?: number;
}

/** The time limit for a forwarded request, in milliseconds. Most senders do not wait that long for a response. */
const forwardMs = 30_000;
/** How long a request may take to arrive, in milliseconds. After that, the response is 408. */
const requestMs = 30_000;

/**
 * The maximum number of open connections, each of which may hold a body in memory. The server closes further
 * connections, so that their senders try again.
 */
const maxConnections = 100;

/** The headers of the target's response that are returned to the sender. */
const returned = ["content-type", "content-encoding", "retry-after", "location"] as const;

/** The maximum size of the target's response body, in bytes. If it is larger, the sender gets 502. */
const mostResponseBytes = 1_048_576;

interface Reply {
  readonly status: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: Uint8Array;
  readonly target?: TargetReply;
  readonly error?: string | undefined;
}

/**
 * Serves on 127.0.0.1 until `signal` is aborted, and then closes all connections.
 *
 * @throws Failure (as a rejection) `port_unavailable`, and the errors of `secretsFor`
 */
export async function serve(options: ListenOptions): Promise<void> {
  const { port, sender, signal, headersMs = 5_000 } = options;
  let verifier: Promise<Verifier> = Promise.resolve(verifierOf(sender, []));
  const server = createServer(
    {
      requestTimeout: requestMs,
      headersTimeout: headersMs,
      // By default, Node checks for timed-out connections only every 30 s.
      connectionsCheckingInterval: headersMs / 5,
    },
    (request, response) => void receive(request, response, options, verifier),
  );
  server.maxConnections = maxConnections;
  const fix = "Choose another one with --port, or 0 for a free one.";
  const actual = await listenLocally(server, port, fix);
  try {
    verifier = options
      .secretsFor(`http://127.0.0.1:${actual}`)
      .then((secrets) => verifierOf(sender, secrets));
    await verifier;
    if (!signal.aborted) await once(signal, "abort");
  } finally {
    server.close();
    server.closeAllConnections();
  }
}

async function receive(
  request: IncomingMessage,
  response: ServerResponse,
  options: ListenOptions,
  verifier: Promise<Verifier>,
): Promise<void> {
  const at = new Date().toISOString();
  const { method = "", url: path = "" } = request;
  const headers = headersOf(request);
  response.on("error", () => {});
  const { body, ...verified } = await read(request, { at, headers }, options.maxBytes, verifier);
  const captured = { at, method, path, headers, verdict: verified.verdict };
  const reply = await replyTo({ ...captured, ...verified, body }, options);
  // The server is stopping and closes the connection without a response, so the sender tries again.
  if (options.signal.aborted) return;
  respond(request, response, reply);
  const { headers: _headers, body: _body, ...result } = reply;
  options.onReceived({ ...captured, ...verified, body, ...result });
}

/** Reads the body and verifies the request. If that is not possible, the verdict is the code of the problem. */
async function read(
  request: IncomingMessage,
  { at, headers }: Pick<Captured, "at" | "headers">,
  maxBytes: number,
  verifier: Promise<Verifier>,
): Promise<Verified & Pick<Received, "body">> {
  if (Number(request.headers["content-length"]) > maxBytes) {
    return { body: undefined, verdict: "body_too_large" };
  }
  try {
    const bytes = await readRawBody(request, maxBytes);
    const { buffer: memory, byteOffset, length } = bytes;
    const body = Buffer.from(memory, byteOffset, length);
    const verify = await verifier;
    return { body, ...(await verify({ headers, body, at: Date.parse(at) })) };
  } catch (error) {
    return { body: undefined, verdict: codeOf(error) ?? "body_unavailable" };
  }
}

async function replyTo(
  { body, judgment, secretId: _secretId, ...captured }: ReceivedBody,
  { sender, save, target, signal }: ListenOptions,
): Promise<Reply> {
  const { verdict } = captured;
  if (body === undefined) return { status: verdict === "body_too_large" ? 413 : 400 };
  let note = "";
  try {
    const unsaved = await save({ ...captured, body });
    if (unsaved !== undefined) note = `The request was not saved. ${unsaved}`;
  } catch (error) {
    // 503 makes the sender try again, so nothing is lost.
    return { status: 503, error: `The request was not saved: ${messageOf(error)}.` };
  }
  const isGenuine = verdict === "genuine";
  let reply: Reply;
  if (isGenuine && target) {
    const headers = passedHeaders(captured.headers, sender);
    reply = await forward({ ...captured, headers, body }, target, signal).catch(failedReply);
  } else reply = judgment ? ownReply(judgment) : { status: isGenuine ? 200 : 401 };
  const error = [reply.error, note].filter(Boolean).join(" ");
  return error === "" ? reply : { ...reply, error };
}

/** Returns the response to a delivery that could not be forwarded. */
function failedReply(error: unknown): Reply {
  if (error instanceof Error && error.name === "TimeoutError") {
    return { status: 504, error: `The target did not respond within ${forwardMs / 1_000} s.` };
  }
  if (error instanceof ConnectionError) {
    return { status: 502, error: `The target returned no usable response. ${error.message}` };
  }
  const fix = isRefusal(error) ? " Start the receiver, or check --forward-to." : "";
  return {
    status: 502,
    error: `The target returned no usable response: ${messageOf(error)}.${fix}`,
  };
}

type ReceivedBody = Omit<Captured, "body"> & Verified & Pick<Received, "body">;

/** Returns the response that a receiver with the sender's scheme would send. Senders check its body in a handshake. */
function ownReply({ outcome }: Judgment): Reply {
  const { body, ...reply } = answer(outcome);
  return { ...reply, body: Buffer.from(body) };
}

async function forward(
  { method, headers, body }: Captured,
  target: Target,
  stopped: AbortSignal,
): Promise<Reply> {
  const timeout = AbortSignal.timeout(forwardMs);
  const signal = AbortSignal.any([timeout, stopped]);
  try {
    const response = await target.send({ method, headers, body }, signal);
    const kept = returned.flatMap((name) => {
      const value = response.headers[name];
      return typeof value === "string" ? [[name, value] as const] : [];
    });
    const { statusCode: status = 0, headers: fields } = response;
    if (status < 200 || status > 599) throw new Error(`it responded with the status ${status}`);
    const { content, isCut } = await readUpTo(mostResponseBytes, response);
    if (isCut) throw new Error("its response is larger than 1 MiB");
    const isReadable = fields["content-encoding"] === undefined;
    const text = isReadable ? content.toString() : "";
    const code = outcomeIn(fields["cache-control"], text);
    return {
      status,
      headers: Object.fromEntries(kept),
      body: content,
      target: { status, text, code },
    };
  } catch (error) {
    throw timeout.aborted ? timeout.reason : error;
  }
}

function headersOf({ rawHeaders }: IncomingMessage): HeaderList {
  return Array.from(
    { length: rawHeaders.length / 2 },
    (_, index) => [rawHeaders[2 * index] ?? "", rawHeaders[2 * index + 1] ?? ""] as const,
  );
}
