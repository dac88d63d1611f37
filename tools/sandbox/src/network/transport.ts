import { type IncomingMessage, request as httpRequest } from "node:http";
import { request as httpsRequest } from "node:https";
import { setImmediate } from "../lib/timers.js";
import { tlsText } from "./tls-text.js";
import {
  type Address,
  allowedAddresses,
  checkUrl,
  literal,
  type Lookup,
  systemLookup,
  type UrlRule,
} from "./url-rule.js";

/** Header lines in their order on the wire. A name may occur several times. */
export type HeaderList = readonly (readonly [name: string, value: string])[];

export interface OutgoingRequest {
  readonly url: string;
  /**
   * Headers, sent in this order and case and with their duplicates, after the transport's own `Host`, `Content-Length`
   * and `Connection: close`. Any of these three in the list is left out, and so is `Transfer-Encoding`.
   */
  readonly headers: HeaderList;
  readonly body: Uint8Array;
}

/** A final response (2xx to 5xx, including redirects). */
export interface ReceivedResponse {
  readonly status: number;
  readonly headers: HeaderList;
  /** The first `captureBytes` of the body, without chunk framing, but not decompressed. */
  readonly body: Uint8Array;
  /** The number of body bytes that were received, or a lower bound if `truncated`. */
  readonly bytes: number;
  /** Whether the body is longer than `captureBytes`. */
  readonly truncated: boolean;
}

/**
 * - `refused`: no connection was established. `timeout`: the signal aborted, or the system gave up connecting.
 * - `reset`: the connection was closed before the response was complete, or a receiver in this process threw.
 * - `tls`: the TLS connection failed. `dns`: the host name has no address.
 * - `protocol`: the receiver did not send a usable HTTP/1.1 response, or the request cannot be sent.
 * - `url_refused`: the URL rule does not allow the URL or one of its addresses.
 * - `dropped`: a fault dropped the delivery.
 */
export type FailureKind =
  "refused" | "timeout" | "reset" | "tls" | "dns" | "protocol" | "url_refused" | "dropped";

/** The reason why there is no response. `text` consists of whole sentences for a developer. */
export interface Failure {
  readonly kind: FailureKind;
  readonly text: string;
}

export type Sent = { readonly response: ReceivedResponse } | { readonly error: Failure };

/**
 * Sends one POST request. Never rejects. Over the network, aborting the signal closes the socket and resolves the
 * promise immediately to an error of kind `timeout`, whatever the reason for the abort. A receiver in this process gets
 * the signal with its Request; the promise resolves only when that receiver has responded or thrown.
 */
export type Transport = (request: OutgoingRequest, signal: AbortSignal) => Promise<Sent>;

/** The maximum number of bytes to keep of a response's body. */
export const mostCaptured = 65_536;

export interface NetworkTransportOptions {
  /** Returns the URL rule. Called for each attempt. */
  readonly rule: () => UrlRule;
  /** Resolves host names except localhost. Called at most once per attempt. Default: the system's resolver. */
  readonly lookup?: Lookup | undefined;
  /** Whether the sandbox listens on this address and port. */
  readonly isOwn: (address: string, port: number) => boolean;
  /**
   * The maximum number of bytes to keep of a response's body: 0 or more, {@link mostCaptured} by default. The transport
   * does not wait for further bytes.
   */
  readonly captureBytes?: number | undefined;
  /** Certificates (PEM) to trust instead of Node's, for tests. */
  readonly ca?: string | Buffer | undefined;
}

/**
 * Creates a transport that sends requests over the network.
 *
 * The URL and all its addresses are checked for each attempt. The connection goes to the checked address itself, so it
 * does not matter if the name's address changes after the check. Addresses are tried in turn, until a connection is
 * established. Redirects are not followed.
 */
export function networkTransport(options: NetworkTransportOptions): Transport {
  const { rule, lookup = systemLookup, isOwn } = options;

  async function send(request: OutgoingRequest, signal: AbortSignal): Promise<Sent> {
    const current = rule();
    const checked = checkUrl(request.url, current);
    if ("refused" in checked) return failure("url_refused", checked.refused);
    const { url } = checked;
    const resolution = await unlessAborted(allowedAddresses(url, current, lookup, isOwn), signal);
    if (resolution === undefined) return stopped;
    if ("refused" in resolution) return failure("url_refused", resolution.refused);
    if ("unresolved" in resolution) return failure("dns", resolution.unresolved);

    let first: Sent | undefined;
    for (const address of resolution.addresses) {
      if (signal.aborted) return stopped;
      const { sent, connected } = await post(url, address, request, signal, options);
      if (connected || signal.aborted) return sent;
      // Resolvers put addresses that this machine cannot use last (RFC 6724, section 6, rule 1), so the first failure
      // is reported.
      first ??= sent;
    }
    return first === undefined ? stopped : withAddresses(first, url, resolution.addresses);
  }

  return (request, signal) =>
    send(request, signal).catch((error: unknown) =>
      failure("protocol", `The request cannot be sent: ${String(error)}.`),
    );
}

interface Exchange {
  readonly sent: Sent;
  /** Whether a connection was established, so that the receiver may have received the request. */
  readonly connected: boolean;
}

/** Sends the request to one address. Rejects if Node cannot build the request, as with a line break in a header. */
function post(
  url: URL,
  { address }: Address,
  request: OutgoingRequest,
  signal: AbortSignal,
  { captureBytes = mostCaptured, ca }: NetworkTransportOptions,
): Promise<Exchange> {
  return new Promise((resolve) => {
    const secure = url.protocol === "https:";
    let phase: Phase = "connecting";
    let response: IncomingMessage | undefined;

    const outgoing = (secure ? httpsRequest : httpRequest)({
      method: "POST",
      host: address,
      port: url.port || defaultPorts[url.protocol],
      path: url.pathname + url.search,
      // A list keeps repeated headers in their order and case, which an object could not.
      headers: [
        ["Host", url.host],
        ["Content-Length", String(request.body.byteLength)],
        ["Connection", "close"],
        ...request.headers.filter(([header]) => !ownHeaders.has(header.toLowerCase())),
      ].flat(),
      // Each attempt opens a new connection, because a request on a reused connection that the receiver is closing
      // would fail as if the receiver had reset it.
      agent: false,
      maxHeaderSize: 16_384,
      // Overrides NODE_TLS_REJECT_UNAUTHORIZED=0, with which deliveries would succeed that fail in production.
      rejectUnauthorized: true,
      servername: literal(url) === undefined ? url.hostname : "",
      ...(ca !== undefined && { ca }),
    });

    const settle = (sent: Sent): void => {
      signal.removeEventListener("abort", abort);
      resolve({ sent, connected: phase !== "connecting" });
      outgoing.destroy();
    };
    const abort = (): void => settle(stopped);
    const fail = (error: NodeJS.ErrnoException): void => {
      // A complete response counts even if an error follows before its bytes are read, for example because the receiver
      // closed the connection without reading the whole request.
      if (response?.complete !== true) settle({ error: describe(error, url, phase) });
    };
    signal.addEventListener("abort", abort);

    // Between the two immediates, Node polls, and reads the response of a receiver that has already responded and
    // closed the connection. Otherwise, the write would fail, and Node would discard the response unread.
    const write = () => setImmediate(() => setImmediate(() => outgoing.end(request.body)));
    outgoing.on("socket", (socket) => {
      // The socket of an interceptor (MSW, Nock) has no handle, and connects only after the request has been written.
      const isIntercepted = !Reflect.get(socket, "_handle");
      if (isIntercepted) write();
      socket.once("connect", () => (phase = secure ? "handshake" : "open"));
      socket.once(secure ? "secureConnect" : "connect", () => {
        phase = "open";
        if (!isIntercepted) write();
      });
    });
    // The listeners for errors are never removed: without them, an error after the end of the attempt would crash the
    // process.
    outgoing.on("error", fail);
    outgoing.on("upgrade", () => settle(switched));
    outgoing.on("response", (incoming) => {
      incoming.on("error", fail);
      // Node emits no `upgrade` for a 101 without an Upgrade header, but treats it as a final response.
      if (incoming.statusCode === 101) return settle(switched);
      phase = "response";
      response = incoming;
      const declared = Number(incoming.headers["content-length"] ?? captureBytes);
      const capture = new Uint8Array(Math.min(captureBytes, declared));
      let bytes = 0;
      const finish = (truncated: boolean): void =>
        settle({
          response: {
            status: incoming.statusCode ?? 0,
            headers: pairs(incoming.rawHeaders),
            body: capture.slice(0, bytes),
            bytes,
            truncated,
          },
        });
      incoming.on("data", (chunk: Buffer) => {
        if (bytes < captureBytes) capture.set(chunk.subarray(0, captureBytes - bytes), bytes);
        bytes += chunk.length;
        if (bytes > captureBytes || (bytes === captureBytes && declared > bytes)) finish(true);
      });
      incoming.on("end", () => finish(false));
    });
  });
}

const switched = failure("protocol", "The receiver switched to another protocol (status 101).");

/** The progress of an exchange. It determines how a failure is described. */
type Phase = "connecting" | "handshake" | "open" | "response";

/** The headers that only the transport may set. Two lengths, for example, would allow request smuggling. */
const ownHeaders = new Set(["host", "content-length", "connection", "transfer-encoding"]);

function describe(error: NodeJS.ErrnoException, url: URL, phase: Phase): Failure {
  const { code = "", message } = error;
  const host = url.hostname;
  if (code === "ETIMEDOUT") {
    return {
      kind: "timeout",
      text: `${host} did not respond before the operating system gave up.`,
    };
  }
  // ECONNRESET is not a refusal: Linux reports it for a connection that was closed right after it was accepted.
  if (phase === "connecting" && code !== "ECONNRESET") {
    return {
      kind: "refused",
      text: refusals(url)[code] ?? `The connection to ${host} failed (${code}).`,
    };
  }
  if (code === "HPE_HEADER_OVERFLOW") {
    return { kind: "protocol", text: "The response headers are larger than 16 KiB." };
  }
  if (code.startsWith("HPE_")) {
    return { kind: "protocol", text: `The response is not valid HTTP (${message}).` };
  }
  const closed = code === "ECONNRESET" || code === "EPIPE";
  if (!closed && (phase === "handshake" || /^(?:ERR_SSL_|EPROTO$)/.test(code))) {
    return { kind: "tls", text: tlsText(error, host, "start the sandbox") };
  }
  return { kind: "reset", text: `The connection was closed ${moments[phase]}.` };
}

const refusals = ({ hostname, port, protocol }: URL): Record<string, string> => ({
  ECONNREFUSED: `Nothing is listening on port ${port || defaultPorts[protocol]} of ${hostname}.`,
  EHOSTUNREACH: `The host ${hostname} cannot be reached from this machine.`,
  ENETUNREACH: `The network of ${hostname} cannot be reached from this machine.`,
});

/**
 * Appends to an error's text the addresses that the URL's host name resolved to. Returns `sent` unchanged if it is a
 * response, or if the URL contains an address instead of a name.
 */
function withAddresses(sent: Sent, url: URL, addresses: readonly Address[]): Sent {
  if (!("error" in sent) || literal(url) !== undefined) return sent;
  const tried = addresses.map(({ address }) => address).join(", ");
  const { kind, text } = sent.error;
  return failure(kind, `${text} Addresses tried: ${tried}.`);
}

const defaultPorts: Record<string, number> = { "http:": 80, "https:": 443 };

const moments: Record<Phase, string> = {
  connecting: "before a response arrived",
  handshake: "during the TLS handshake",
  open: "before a response arrived",
  response: "in the middle of the response",
};

/** Settles like `promise`, or resolves to undefined if the signal aborts first. */
function unlessAborted<T>(promise: Promise<T>, signal: AbortSignal): Promise<T | undefined> {
  return new Promise((resolve, reject) => {
    const abort = (): void => resolve(undefined);
    if (signal.aborted) abort();
    signal.addEventListener("abort", abort);
    void promise.then(resolve, reject).finally(() => signal.removeEventListener("abort", abort));
  });
}

const pairs = (raw: readonly string[]): HeaderList =>
  Array.from({ length: raw.length >> 1 }, (_, n) => [raw[2 * n] ?? "", raw[2 * n + 1] ?? ""]);

const stopped = failure("timeout", "The attempt ended before the response was complete.");

function failure(kind: FailureKind, text: string): { readonly error: Failure } {
  return { error: { kind, text } };
}
