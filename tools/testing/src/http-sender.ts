import * as http from "node:http";
import * as https from "node:https";
import type { LookupFunction } from "node:net";
import { PreconditionError } from "./precondition-error.js";

export interface Reply {
  readonly status: number;
  readonly headers: http.IncomingHttpHeaders;
  readonly body: string;
}

/**
 * The headers of a request. Each value of a list is sent as a separate line. Names that differ only in case are sent as
 * separate lines too. Undefined omits a header.
 */
export type SentHeaders = Readonly<Record<string, string | readonly string[] | undefined>>;

export interface Sending {
  readonly method?: string;
  /** The query of the URL, with its question mark. Default: none. */
  readonly query?: string;
  readonly headers?: SentHeaders;
  readonly body?: Uint8Array;
  /**
   * The chunk size in bytes. A chunked body has no Content-Length. Default: the body is sent in one piece, with a
   * Content-Length.
   */
  readonly chunkBytes?: number;
  /** An agent that keeps and reuses connections. Default: a new connection for this request only. */
  readonly agent?: http.Agent;
}

/** A request whose headers and first half of the body have been sent. */
export interface Begun {
  /** Sends the rest of the body, and resolves to the response. */
  readonly finish: () => Promise<Reply>;
  /** The response, which may arrive before the rest of the body is sent. */
  readonly reply: Promise<Reply>;
  /** Closes the connection. */
  readonly hangUp: () => Promise<void>;
}

/** The maximum size of a response's body, in bytes. */
const mostResponseBytes = 1_048_576;

/** How long a kept connection may continue to send a request's body after the response has ended, in milliseconds. */
const uploadMs = 1_000;

/** The minimum rate at which a receiver must read a body, in bytes per millisecond. */
const slowestUpload = 1_048;

/** Returns the request options `lookup` and `signal`, each only if it is set. */
const optionsOf = ({ lookup, signal }: Connecting): http.RequestOptions => ({
  ...(lookup && { lookup }),
  ...(signal && { signal }),
});

const tooLarge =
  "The response is larger than 1 MiB, so the rest was not read. Respond to deliveries with a short body or no body.";

/** Controls which addresses requests connect to, and when they are aborted. */
export interface Connecting {
  /** Resolves host names. Default: the operating system resolves them. */
  readonly lookup?: LookupFunction | undefined;
  /** Aborts the requests. Default: they are not aborted. */
  readonly signal?: AbortSignal | undefined;
}

/**
 * Sends requests to a receiver over HTTP or HTTPS, as the service and forgers would. The promise of a response rejects
 * if the connection fails or is idle for `patienceMs` milliseconds, if the response is larger than 1 MiB, or if it has
 * not arrived in full within `patienceMs` plus the time that is allowed for sending the body.
 */
export class HttpSender {
  readonly #url: string;
  readonly #patienceMs: number;
  readonly #connecting: Connecting;

  constructor(url: string, patienceMs: number, connecting: Connecting = {}) {
    this.#url = url;
    this.#patienceMs = patienceMs;
    this.#connecting = connecting;
  }

  send(sending: Sending): Promise<Reply> {
    const { body = new Uint8Array(), chunkBytes = body.length || 1 } = sending;
    const outgoing = this.open(sending);
    for (let offset = 0; offset < body.length; offset += chunkBytes) {
      outgoing.write(body.subarray(offset, offset + chunkBytes));
    }
    outgoing.end();
    return this.replyTo(outgoing, {
      keep: sending.agent !== undefined,
      extraMs: body.length / slowestUpload,
    });
  }

  /** Sends the headers and the first half of the body, and resolves when they have been written. */
  async begin(sending: Sending & { readonly body: Uint8Array }): Promise<Begun> {
    const { body } = sending;
    const half = body.length / 2;
    const outgoing = this.open(sending);
    // Allows twice `patienceMs` for the whole request, because the caller decides when the rest of the body follows.
    const reply = this.replyTo(outgoing, { extraMs: this.#patienceMs });
    // Prevents an unhandled rejection: `reply` rejects after `hangUp`, and the caller need not await it.
    reply.catch(() => {});
    // Listens before `hangUp` is called, because a receiver that responds early may close the connection first.
    const closed = new Promise<void>((resolve) => outgoing.once("close", () => resolve()));
    await new Promise((resolve) => outgoing.write(body.subarray(0, half), resolve));
    return {
      reply,
      finish() {
        outgoing.end(body.subarray(half));
        return reply;
      },
      hangUp() {
        outgoing.destroy();
        return closed;
      },
    };
  }

  /** Creates a request without sending anything. */
  open(sending: Sending): http.ClientRequest {
    const { method = "POST", query = "", headers = {}, body, chunkBytes, agent } = sending;
    const { host, protocol } = new URL(this.#url);
    const { request } = protocol === "https:" ? https : http;
    const length = body && !chunkBytes ? { "content-length": String(body.length) } : {};
    // Without the header `connection`, Node adds `Connection: close` if there is no agent. A server that refuses such a
    // request closes the connection while the body is being sent, and the failed write could hide the response.
    const defaults = { host, connection: "keep-alive", ...length };
    const lines = Object.entries({ ...defaults, ...headers }).flatMap(([name, value]) =>
      [value ?? []].flat().flatMap((item) => [name, item]),
    );
    // Passes a list, because Node sends a list of headers unchanged, even repeated names.
    return request(this.#url + query, {
      method,
      agent: agent ?? false,
      headers: lines,
      ...optionsOf(this.#connecting),
    });
  }

  /**
   * Resolves to the response to a request. With `keep`, the connection stays open after the response. The whole
   * exchange may take `patienceMs` plus `extraMs` milliseconds.
   */
  replyTo(
    outgoing: http.ClientRequest,
    { keep = false, extraMs = 0 }: { readonly keep?: boolean; readonly extraMs?: number } = {},
  ): Promise<Reply> {
    const patienceMs = this.#patienceMs;
    let limit: NodeJS.Timeout | undefined;
    return new Promise<Reply>((resolve, reject) => {
      const giveUp = () => {
        reject(new Error(`No response arrived within ${patienceMs} ms.`));
        outgoing.destroy();
      };
      outgoing.setTimeout(patienceMs, giveUp);
      // Limits the whole exchange, because a receiver that sends a byte now and then never reaches the idle timeout.
      limit = setTimeout(giveUp, patienceMs + extraMs);
      // Rejects on close too: if the receiver upgrades the connection, there is neither a response nor an error event.
      const withoutResponse = () =>
        reject(Object.assign(new Error("closed"), { code: "ECONNRESET" }));
      outgoing.once("close", withoutResponse);
      outgoing.on("error", reject);
      outgoing.on("response", (response) => {
        // From now on a close is not an error: the connection may close before the response has been read.
        outgoing.off("close", withoutResponse);
        const chunks: Buffer[] = [];
        let left = mostResponseBytes;
        response.on("data", (chunk: Buffer) => {
          chunks.push(chunk);
          left -= chunk.length;
          if (left >= 0) return;
          reject(new PreconditionError(tooLarge));
          outgoing.destroy();
        });
        response.on("error", reject);
        response.on("end", () => {
          if (!keep) outgoing.destroy();
          else if (!outgoing.writableFinished) {
            const timer = setTimeout(() => outgoing.destroy(), uploadMs);
            outgoing.once("finish", () => clearTimeout(timer));
          }
          const { statusCode: status = 0, headers } = response;
          resolve({ status, headers, body: Buffer.concat(chunks).toString() });
        });
      });
    }).finally(() => clearTimeout(limit));
  }
}
