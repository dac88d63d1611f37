import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { codeOf, headerNames, verify, type OutcomeCode, type Secret } from "@svc-webhooks/core";
import { readRawBody } from "@svc-webhooks/node";
import { Failure, isRefusal, messageOf } from "../errors.js";
import type { Captured } from "../lib/capture.js";
import { deliveryHeaders, headerOf } from "../lib/delivery-headers.js";
import { outcomeIn } from "../lib/outcome.js";
import { readUpTo } from "../lib/read.js";
import type { HeaderList, Target } from "../lib/target.js";

/** The target's response. */
export interface TargetReply {
  readonly status: number;
  /** The response body, or an empty string if the body is compressed. */
  readonly text: string;
  /** The outcome code, if the target uses svc-webhooks. */
  readonly code: OutcomeCode | undefined;
}

/** One request and its result. */
export interface Received extends Omit<Captured, "body"> {
  /** The body of the request. Undefined if it was not read. */
  readonly body: Buffer | undefined;
  /** The id of the secret that the signature was made with, if the request is genuine. */
  readonly secretId?: string;
  /** The status of the response. */
  readonly status: number;
  readonly target?: TargetReply;
  /** The reason why the target did not respond, or why the request could not be saved. */
  readonly error?: string;
}

export interface ListenOptions {
  readonly port: number;
  /** Resolves with the secrets of the endpoint at this URL. Deliveries wait until then. */
  readonly secretsFor: (url: string) => Promise<readonly Secret[]>;
  readonly maxBytes: number;
  readonly target: Target | undefined;
  /** Called before the request is forwarded. If it throws, the response is 503. */
  readonly save: (captured: Captured) => void;
  /** Called after the response. */
  readonly onReceived: (received: Received) => void;
  readonly signal: AbortSignal;
  /**
   * How long a connection may take to send its headers, in milliseconds. It is then closed, so that idle connections do
   * not block others.
   */
  readonly headersMs?: number;
}

/** The time limit for a forwarded request, in milliseconds: longer than a sender waits. */
const forwardMs = 30_000;
/** How long a request may take to arrive, in milliseconds. After that, the response is 408. */
const requestMs = 30_000;

/**
 * The maximum number of connections, each of which may hold a body in memory. Further connections are closed, and their
 * senders try again.
 */
const maxConnections = 100;

/** The headers of the target's response that are returned to the sender. */
const returned = ["content-type", "content-encoding", "retry-after", "location"] as const;

/** The maximum size of a response returned to the sender, in bytes. */
const mostResponseBytes = 1_048_576;

interface Reply {
  readonly status: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: Uint8Array;
  readonly target?: TargetReply;
  readonly error?: string;
}

/**
 * Serves on 127.0.0.1 until `signal` is aborted.
 *
 * @throws Failure (as a rejection) `port_unavailable`, and the errors of `secretsFor`
 */
export async function serve(options: ListenOptions): Promise<void> {
  const { port, signal, headersMs = 5_000 } = options;
  let secrets: Promise<readonly Secret[]> = Promise.resolve([]);
  const server = createServer(
    {
      requestTimeout: requestMs,
      headersTimeout: headersMs,
      // By default, Node checks for timed-out connections only every 30 s.
      connectionsCheckingInterval: headersMs / 5,
    },
    (request, response) => void receive(request, response, options, secrets),
  );
  server.maxConnections = maxConnections;
  server.listen(port, "127.0.0.1");
  try {
    await once(server, "listening");
  } catch (error) {
    throw new Failure(
      "port_unavailable",
      `The port ${port} cannot be used: ${messageOf(error)}.`,
      "Choose another one with --port, or 0 for a free one.",
      { cause: error },
    );
  }
  try {
    secrets = options.secretsFor(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
    await secrets;
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
  secrets: Promise<readonly Secret[]>,
): Promise<void> {
  const at = new Date().toISOString();
  const { method = "", url: path = "" } = request;
  const headers = headersOf(request);
  response.on("error", () => {});
  const { body, ...judged } = await read(request, headers, options.maxBytes, secrets);
  const captured = { at, method, path, headers, verdict: judged.verdict };
  const reply = await replyTo({ ...captured, body }, options);
  // The server is stopping and closes the connection, so the sender tries again.
  if (options.signal.aborted) return;
  if (body === undefined) response.setHeader("Connection", "close");
  response.writeHead(reply.status, reply.headers).end(reply.body);
  const { headers: _headers, body: _body, ...result } = reply;
  options.onReceived({ ...captured, ...judged, body, ...result });
}

/** Reads the body and verifies it. The verdict is `genuine`, or the code of the problem. */
async function read(
  request: IncomingMessage,
  headers: HeaderList,
  maxBytes: number,
  secrets: Promise<readonly Secret[]>,
): Promise<Pick<Received, "body" | "verdict" | "secretId">> {
  if (Number(request.headers["content-length"]) > maxBytes) {
    return { body: undefined, verdict: "body_too_large" };
  }
  try {
    const bytes = await readRawBody(request, maxBytes);
    const signature = headerOf(headers, headerNames.signature);
    const result = await verify(bytes, signature, await secrets);
    const { buffer: memory, byteOffset, length } = bytes;
    const body = Buffer.from(memory, byteOffset, length);
    return result.ok
      ? { body, verdict: "genuine", secretId: result.secretId }
      : { body, verdict: result.code };
  } catch (error) {
    return { body: undefined, verdict: codeOf(error) ?? "body_unavailable" };
  }
}

async function replyTo(
  { body, ...captured }: Omit<Captured, "body"> & { readonly body: Buffer | undefined },
  { save, target, signal }: ListenOptions,
): Promise<Reply> {
  const { verdict } = captured;
  if (body === undefined) return { status: verdict === "body_too_large" ? 413 : 400 };
  try {
    save({ ...captured, body });
  } catch (error) {
    // 503 makes the sender try again, so nothing is lost.
    return { status: 503, error: `The request was not saved: ${messageOf(error)}.` };
  }
  if (verdict !== "genuine") return { status: 401 };
  if (!target) return { status: 200 };
  try {
    return await forward({ ...captured, body }, target, signal);
  } catch (error) {
    if (error instanceof Error && error.name === "TimeoutError") {
      return { status: 504, error: `The target did not respond in ${forwardMs / 1_000} s.` };
    }
    const fix = isRefusal(error) ? " Start the receiver, or check --forward-to." : "";
    return { status: 502, error: `The target is unavailable: ${messageOf(error)}.${fix}` };
  }
}

async function forward(
  { method, headers, body }: Captured,
  target: Target,
  stopped: AbortSignal,
): Promise<Reply> {
  const timeout = AbortSignal.timeout(forwardMs);
  const signal = AbortSignal.any([timeout, stopped]);
  try {
    const outgoing = { method, headers: deliveryHeaders(headers), body };
    const response = await target.send(outgoing, signal);
    const kept = returned.flatMap((name) => {
      const value = response.headers[name];
      return typeof value === "string" ? [[name, value] as const] : [];
    });
    const { statusCode: status = 0, headers: fields } = response;
    if (status < 200 || status > 599) throw new Error(`it responded with the status ${status}`);
    const { content, isCut } = await readUpTo(mostResponseBytes, response);
    if (isCut) throw new Error("its response has more than 1 MiB");
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
