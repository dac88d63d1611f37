import { createHash } from "node:crypto";
import { once } from "node:events";
import { createServer, request as httpRequest, type IncomingMessage } from "node:http";
import type { Socket } from "node:net";
import { buffer } from "node:stream/consumers";
import { keyIn, refusal } from "@svc-webhooks/crash-test";
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
  /** Names and values in turn. */
  readonly headers: readonly string[];
  readonly body: Buffer;
}

export interface HttpServerOptions {
  readonly process: string;
  /** The name of the variable with the service's URL, which starts the names of its requests. */
  readonly name: string;
  readonly crossings: Exchanges;
  /** The path of the service's URL, whose secret parts are masked in names. */
  readonly path: string;
  readonly respond: (request: HttpRequest) => Promise<HttpResponse>;
  /** Whether `respond` gets no body: only its digest is kept, so that its length has no limit. Default: false. */
  readonly ignoresBody?: boolean | undefined;
}

/** Serves one service to one process. Each request is an exchange. */
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
      if (passing.isRefused) {
        response.writeHead(refusal.status, refusal.headers);
        return void response.end(refusal.body);
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

/** Reads a body, and its SHA-256. */
async function read(incoming: IncomingMessage, isIgnored = false) {
  const hash = createHash("sha256");
  const chunks: Buffer[] = [];
  for await (const chunk of incoming as AsyncIterable<Buffer>) {
    hash.update(chunk);
    if (!isIgnored) chunks.push(chunk);
  }
  return { body: Buffer.concat(chunks), digest: hash.digest("hex") };
}

/** Path segments that identify a thing and differ from history to history. */
const id = /^(?:\d+|[\da-f]{8}-[\da-f-]{27}|[\da-f]{16,}|[a-z]+_[\w-]{12,})$/i;

/**
 * Returns the facts of a request. `GET` and `HEAD` have no effect, and the same `PUT` or `DELETE` has one.
 *
 * @param digest that of the body
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
  const isRead = /^(?:GET|HEAD|OPTIONS)$/.test(method);
  const isIdempotent = /^(?:PUT|DELETE)$/.test(method);
  const key = headers["idempotency-key"];
  return {
    name: effect,
    kind: "call" as const,
    isRequest: true,
    effects: isRead ? [] : [effect],
    reads: [],
    key: isRead ? undefined : keyIn(typeof key === "string" ? key : key?.[0]),
    identity: isIdempotent ? `${method} ${url} ${digest}` : undefined,
  };
}

/** The headers of one connection (RFC 9110, section 7.6.1). */
const ofConnection =
  /^(?:host|connection|keep-alive|proxy-.*|te|trailer|transfer-encoding|upgrade|content-length)$/i;

const endToEnd = (headers: readonly string[]): readonly string[] =>
  headers.flatMap((name, at) =>
    at % 2 === 0 && !ofConnection.test(name) ? [name, headers[at + 1] ?? ""] : [],
  );

/** Returns a function that forwards requests to a service on this machine. */
export const forwardTo =
  (target: URL) =>
  async ({ method, path, headers, body }: HttpRequest): Promise<HttpResponse> => {
    // A path such as `//example.com/` must not become another host, as it would in a URL relative to the target.
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
