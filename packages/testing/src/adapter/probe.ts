import { Agent, request, type ClientRequest, type IncomingHttpHeaders } from "node:http";
import { contractSecret, memoryHeader, type ContractMemory } from "./contract-receiver.js";
import {
  signedDelivery,
  type SignedDelivery,
  type SignedDeliveryOptions,
} from "../signed-delivery.js";

export interface Reply {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

/** A header with a list of values is sent as several lines, as are names that differ in case. */
type SentHeaders = Readonly<Record<string, string | readonly string[] | undefined>>;

interface Sending {
  readonly method?: string;
  readonly headers?: SentHeaders;
  readonly body?: Uint8Array;
  /** Sends the body in chunks of this many bytes, without Content-Length. Default: in one piece, with it. */
  readonly chunkBytes?: number;
  /** Reuses and keeps connections. Default: a connection for this request only. */
  readonly agent?: Agent;
}

/** A request whose head and first half of the body are sent. */
interface Begun {
  /** Sends the rest. */
  readonly finish: () => Promise<Reply>;
  /** The response, which may arrive before the rest is sent. */
  readonly reply: Promise<Reply>;
  /** Closes the connection. */
  readonly hangUp: () => Promise<void>;
}

const patienceMs = 10_000;
/** How long the rest of a body may take after its response. */
const uploadMs = 1_000;

/** Sends deliveries to a mounted adapter over HTTP, as the service and forgers would. */
export class Probe {
  readonly #url: string;

  constructor(url: string) {
    this.#url = url;
  }

  /** A signed delivery. A string or bytes are sent unchanged as the body. */
  signed(event: unknown, options: SignedDeliveryOptions = {}): Promise<SignedDelivery> {
    return signedDelivery(event, { secret: contractSecret, ...options });
  }

  /** A signed delivery of an event of the given type. */
  event(type: string, options?: SignedDeliveryOptions): Promise<SignedDelivery> {
    return this.signed({ type }, options);
  }

  /** Reads and clears a list of the receiver. */
  async take<List extends keyof ContractMemory>(list: List): Promise<ContractMemory[List]> {
    // Not empty, because middleware may parse it.
    const { body } = await this.send({
      headers: { "content-type": "application/json", [memoryHeader]: list },
      body: new TextEncoder().encode("{}"),
    });
    const { status } = JSON.parse(body) as { readonly status: string };
    return JSON.parse(status) as ContractMemory[List];
  }

  /** @throws an Error (as a rejection) if no response arrives within 10 s */
  send(sending: Sending): Promise<Reply> {
    const { body = new Uint8Array(), chunkBytes = body.length || 1 } = sending;
    const outgoing = this.#open(sending);
    for (let at = 0; at < body.length; at += chunkBytes) {
      outgoing.write(body.subarray(at, at + chunkBytes));
    }
    outgoing.end();
    return replyTo(outgoing, sending.agent !== undefined);
  }

  /** Sends the body in chunks of one byte. */
  sendBytewise({ headers, body }: SignedDelivery): Promise<Reply> {
    const outgoing = this.#open({ headers: { ...headers, "transfer-encoding": "chunked" } });
    outgoing.flushHeaders();
    // With a `write` for each chunk, the client would take four times as long as the server.
    const chunks = Array.from(body, (byte) => `1\r\n${String.fromCharCode(byte)}\r\n`).join("");
    outgoing.once("socket", (socket) =>
      socket.once("connect", () => {
        socket.write(chunks, "latin1");
        outgoing.end();
      }),
    );
    return replyTo(outgoing);
  }

  /** Sends the head and half of the body. */
  async begin(sending: Sending & { readonly body: Uint8Array }): Promise<Begun> {
    const { body } = sending;
    const half = body.length / 2;
    const outgoing = this.#open(sending);
    const reply = replyTo(outgoing);
    // A client that disconnects gets no response.
    reply.catch(() => {});
    await new Promise((resolve) => outgoing.write(body.subarray(0, half), resolve));
    return {
      reply,
      finish() {
        outgoing.end(body.subarray(half));
        return reply;
      },
      hangUp: () =>
        new Promise((resolve) => {
          outgoing.on("close", () => resolve());
          outgoing.destroy();
        }),
    };
  }

  /**
   * Sends `second` over the connection of `first` and ignores the response to `first`. If the server has
   * closed that connection or stopped reading, `second` is sent over another one, as clients do.
   */
  async sendAfter(first: Sending, second: Sending): Promise<Reply> {
    const agent = new Agent({ keepAlive: true, maxSockets: 1 });
    try {
      await this.send({ ...first, agent }).catch(unlessReset);
      return (await this.send({ ...second, agent }).catch(unlessReset)) ?? this.send(second);
    } finally {
      agent.destroy();
    }
  }

  /** Creates a request without sending anything. */
  #open({ method = "POST", headers = {}, body, chunkBytes, agent }: Sending): ClientRequest {
    const { host } = new URL(this.#url);
    const length = body && !chunkBytes ? { "content-length": String(body.length) } : {};
    const lines = Object.entries({ host, ...length, ...headers }).flatMap(([name, value]) =>
      [value ?? []].flat().flatMap((one) => [name, one]),
    );
    // Node sends a list of headers unchanged.
    return request(this.#url, { method, agent: agent ?? false, headers: lines });
  }
}

function unlessReset(error: NodeJS.ErrnoException): undefined {
  if (error.code !== "ECONNRESET" && error.code !== "EPIPE") throw error;
}

function replyTo(outgoing: ClientRequest, keep = false): Promise<Reply> {
  return new Promise((resolve, reject) => {
    outgoing.setTimeout(patienceMs, () =>
      outgoing.destroy(new Error(`No response arrived within ${patienceMs} ms.`)),
    );
    outgoing.on("error", reject);
    outgoing.on("response", (response) => {
      const chunks: Buffer[] = [];
      response.on("data", (chunk: Buffer) => chunks.push(chunk));
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
  });
}
