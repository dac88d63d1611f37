import { once } from "node:events";
import { createConnection, type Socket } from "node:net";
import { setImmediate as turn, setTimeout as wait } from "node:timers/promises";
import { bodyOf, headersOf, secret, signatureOf } from "../deliveries.js";

const connections = 20;

const body = bodyOf(1_024);
const signature = signatureOf(body, secret);

/**
 * Returns headers that are genuine for receivers of this service and, under GitHub's header names, for GitHub's
 * receivers.
 */
export const headersFor = (id: string) => ({
  ...headersOf(signature, id),
  "x-hub-signature-256": signature,
  "x-github-delivery": id,
  "x-github-event": "push",
});

/** The digits that each delivery replaces with its own id. */
const digits = "0".repeat(16);
const head = Object.entries({
  host: "127.0.0.1",
  "content-length": String(body.length),
  ...headersFor(`dlv_${digits}`),
}).map(([name, value]) => `${name}: ${value}\r\n`);

/** The path of the requests that are not deliveries. */
export const otherPath = "/health";

/** The bytes of the requests: deliveries, or requests for another route. */
const templates = {
  deliveries: Buffer.concat([Buffer.from(`POST /webhooks HTTP/1.1\r\n${head.join("")}\r\n`), body]),
  others: Buffer.from(`GET ${otherPath} HTTP/1.1\r\nhost: 127.0.0.1\r\n\r\n`),
};
export type Requests = keyof typeof templates;

const places = [
  ...templates.deliveries.toString("latin1").matchAll(new RegExp(`dlv_${digits}`, "g")),
].map(({ index }) => index + "dlv_".length);

let lastId = 0;

export interface LoadOptions {
  readonly perSecond?: number | undefined;
  readonly requests?: Requests | undefined;
}

/** A connection that has at most one request in flight, because each request reuses the same bytes. */
class Sender {
  readonly #bytes: Buffer;
  readonly #places: readonly number[];
  readonly #socket: Socket;
  #received = "";
  /** Receives the status of the response, or undefined if there is none. */
  #respond: ((status: number | undefined) => void) | undefined;

  constructor(port: number, requests: Requests) {
    this.#bytes = Buffer.from(templates[requests]);
    this.#places = requests === "deliveries" ? places : [];
    this.#socket = createConnection({ port, host: "127.0.0.1", noDelay: true });
    this.#socket.setEncoding("latin1");
    this.#socket.on("data", (text: string) => this.#take(text));
    this.#socket.on("error", () => this.#end(undefined));
    this.#socket.on("close", () => this.#end(undefined));
  }

  async connected(): Promise<void> {
    if (this.#socket.connecting) await once(this.#socket, "connect");
  }

  send(respond: (status: number | undefined) => void): void {
    if (this.#socket.destroyed) return respond(undefined);
    lastId += 1;
    const id = String(lastId).padStart(digits.length, "0");
    for (const place of this.#places) this.#bytes.write(id, place, "latin1");
    this.#respond = respond;
    this.#socket.write(this.#bytes);
  }

  close(): void {
    this.#socket.destroy();
  }

  #take(text: string): void {
    this.#received += text;
    const status = statusOf(this.#received);
    if (status !== undefined) this.#end(status);
  }

  #end(status: number | undefined): void {
    const respond = this.#respond;
    this.#respond = undefined;
    this.#received = "";
    respond?.(status);
  }
}

/** Returns the status of a response, or undefined while it is incomplete. */
function statusOf(text: string): number | undefined {
  const bodyAt = text.indexOf("\r\n\r\n") + 4;
  if (bodyAt < 4) return undefined;
  const headers = text.slice(0, bodyAt);
  const length = /\r\ncontent-length: (\d+)/i.exec(headers)?.[1];
  const isComplete =
    length === undefined
      ? !/\r\ntransfer-encoding: chunked/i.test(headers) || text.endsWith("\r\n0\r\n\r\n")
      : text.length - bodyAt >= Number(length);
  return isComplete ? Number(text.slice("HTTP/1.1 ".length, "HTTP/1.1 200".length)) : undefined;
}

/**
 * Sends requests for `ms` milliseconds over 20 connections: deliveries of 1 kB, each with its own id, or others. A
 * connection sends the next request when it has received a response or, with `perSecond`, when that rate requires it.
 * Without `perSecond`, this process never sleeps, because the kernel would count the time to wake it as the server's CPU
 * time. Resolves to the number of responses.
 *
 * @throws Error (as a rejection) if a request failed or its status was not 2xx, because a rejected delivery takes less
 *   time
 */
export async function load(
  port: number,
  ms: number,
  { perSecond = Infinity, requests = "deliveries" }: LoadOptions = {},
): Promise<number> {
  const senders = Array.from({ length: connections }, () => new Sender(port, requests));
  try {
    await Promise.all(senders.map((sender) => sender.connected()));
    return await sendAll(senders, ms, perSecond);
  } finally {
    for (const sender of senders) sender.close();
  }
}

async function sendAll(senders: readonly Sender[], ms: number, perSecond: number): Promise<number> {
  const idle = [...senders];
  const counts = { sent: 0, answered: 0, refused: 0, failed: 0 };
  const start = performance.now();
  const pause = () => (perSecond < Infinity ? wait(1) : turn());
  const send = (sender: Sender) => {
    counts.sent += 1;
    sender.send((status) => {
      counts.answered += 1;
      if (status === undefined) {
        // The connection is closed, so it sends nothing more.
        counts.failed += 1;
        return;
      }
      if (status < 200 || status > 299) counts.refused += 1;
      if (perSecond < Infinity || performance.now() - start >= ms) idle.push(sender);
      else send(sender);
    });
  };
  while (performance.now() - start < ms && counts.failed < senders.length) {
    const due = Math.ceil((performance.now() - start + 1) * (perSecond / 1_000));
    for (const sender of idle.splice(0, Math.max(due - counts.sent, 0))) send(sender);
    await pause();
  }
  while (counts.answered < counts.sent) await pause();
  const { answered, refused, failed } = counts;
  if (refused + failed > 0) {
    throw new Error(`${refused} responses were not 2xx, and ${failed} requests failed.`);
  }
  return answered;
}
