import { createHash } from "node:crypto";
import { once } from "node:events";
import { createServer, request as httpRequest, type IncomingMessage } from "node:http";
import type { Socket } from "node:net";
import { buffer } from "node:stream/consumers";
import { isIdempotent, isReading, keyIn, statusResponse } from "@svc-webhooks/crash-test";
import type { Exchanges } from "../crossings.js";
import { secretSegments } from "../secrets.js";
import { listening, type Listening } from "./listening.js";

export interface HttpRequest {
  readonly method: string;
  readonly path: string;
  readonly headers: readonly string[];
  readonly body: Buffer;
}

export interface HttpResponse {
  readonly status: number;
  /** Names and values, alternating. */
  readonly headers: readonly string[];
  readonly body: Buffer;
}

export interface HttpServerOptions {
  readonly process: string;
  /** The name of the variable with the service's URL. The names of exchanges contain it. */
  readonly name: string;
  readonly crossings: Exchanges;
  /** The path of the service's URL. Its parts that may be secret are masked in the names of exchanges. */
  readonly path: string;
  readonly respond: (request: HttpRequest) => Promise<HttpResponse>;
  /**
   * Whether to keep only a body's digest, so that its length has no limit. `respond` then gets an empty body. Default:
   * false.
   */
  readonly ignoresBody?: boolean | undefined;
}

/** Starts a server that takes the place of one service for one process. Each request is an exchange. */
export function httpServer(options: HttpServerOptions): Promise<Listening> {
  const { process, crossings, respond } = options;
  const server = createServer(async (incoming, response) => {
    const { socket } = incoming;
    try {
      const { body, digest } = await read(incoming, options.ignoresBody);
      const passing = await crossings.arrive(
        process,
        factsOf(options.name, incoming, digest, options.path),
      );
      if (passing.hasStatusFault) {
        response.writeHead(statusResponse.status, statusResponse.headers);
        return void response.end(statusResponse.body);
      }
      if (!passing.isSent) return void socket.destroy();
      const { method = "GET", url: path = "/", rawHeaders: headers } = incoming;
      const reply = await respond({ method, path, headers, body }).catch((error: unknown) => {
        passing.broken();
        throw error;
      });
      if (!(await passing.executed())) return void socket.destroy();
      response.writeHead(reply.status, [...reply.headers]);
      response.end(reply.body);
    } catch {
      socket.destroy();
    }
  });
  return listening(server, new Set<Socket>());
}

/** Reads a body, and computes its SHA-256. Returns an empty body if it is ignored. */
async function read(incoming: IncomingMessage, isIgnored = false) {
  const hash = createHash("sha256");
  const chunks: Buffer[] = [];
  for await (const chunk of incoming as AsyncIterable<Buffer>) {
    hash.update(chunk);
    if (!isIgnored) chunks.push(chunk);
  }
  return { body: Buffer.concat(chunks), digest: hash.digest("hex") };
}

/** Matches path segments that are ids, which differ from history to history. */
const id = /^(?:\d+|[\da-f]{8}-[\da-f-]{27}|[\da-f]{16,}|[a-z]+_[\w-]{12,})$/i;

/**
 * Returns the facts about a request. `GET`, `HEAD` and `OPTIONS` have no effect. Equal `PUT` or `DELETE` requests have
 * one effect together.
 *
 * @param digest the SHA-256 of the body, in hex
 */
export function factsOf(
  name: string,
  { method = "GET", url = "/", headers }: Pick<IncomingMessage, "method" | "url" | "headers">,
  digest: string,
  base = "",
) {
  const hidden = new Set(secretSegments(base));
  const path = url
    .replace(/\?.*$/, "")
    .split("/")
    .map((segment) => (hidden.has(segment) ? "…" : id.test(segment) ? ":id" : segment))
    .join("/");
  const effect = `${method} ${name}${path === "/" ? "" : path}`;
  const isRead = isReading(method);
  const key = headers["idempotency-key"];
  return {
    name: effect,
    kind: "call" as const,
    isRequest: true,
    effects: isRead ? [] : [effect],
    reads: [],
    key: isRead ? undefined : keyIn(typeof key === "string" ? key : key?.[0]),
    identity: isIdempotent(method) ? `${method} ${url} ${digest}` : undefined,
  };
}

/** Matches headers that belong to one connection (RFC 9110, section 7.6.1). */
const ofConnection =
  /^(?:host|connection|keep-alive|proxy-.*|te|trailer|transfer-encoding|upgrade|content-length)$/i;

const endToEnd = (headers: readonly string[]): readonly string[] =>
  headers.flatMap((name, index) =>
    index % 2 === 0 && !ofConnection.test(name) ? [name, headers[index + 1] ?? ""] : [],
  );

/** Returns a function that forwards requests to a service on this machine. */
export const forwardTo =
  (target: URL) =>
  async ({ method, path, headers, body }: HttpRequest): Promise<HttpResponse> => {
    // Passes the path separately: in a URL relative to the target, the path `//example.com/` would become a host.
    const sending = httpRequest(target, {
      path,
      method,
      agent: false,
      headers: [...endToEnd(headers), "Host", target.host, "Content-Length", `${body.length}`],
    });
    sending.end(body);
    const [response] = (await once(sending, "response")) as [IncomingMessage];
    const { statusCode: status = 502, rawHeaders } = response;
    return { status, headers: endToEnd(rawHeaders), body: await buffer(response) };
  };
