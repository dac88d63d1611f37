import { createHmac, timingSafeEqual } from "node:crypto";
import { once } from "node:events";
import { createServer, type IncomingMessage, type RequestListener } from "node:http";
import type { AddressInfo } from "node:net";

export interface SvcEvent {
  readonly event_id: string;
  readonly type: string;
}

type HandleEvent = (event: SvcEvent) => Promise<void>;

/** The state of each event. An event without one is new or has failed. */
type Records = Map<string, "running" | "done">;

/** A hand-written receiver, split into the parts that bad receivers replace. */
export interface HandWrittenReceiver {
  /** Returns the status if the request is rejected without reading its body. */
  readonly refusal: (request: IncomingMessage) => number | undefined;
  /** Reads the body. Resolves to undefined if it is too large. */
  readonly read: (request: IncomingMessage) => Promise<Buffer | undefined>;
  readonly signature: (request: IncomingMessage) => string;
  readonly isGenuine: (body: Buffer, signature: string) => boolean;
  /** Parses the body. Throws if it is not an event. */
  readonly parse: (body: Buffer) => SvcEvent;
  readonly subscribes: (type: string) => boolean;
  readonly key: (event: SvcEvent, request: IncomingMessage) => string;
  /** Runs the handler. Resolves to the status of the response. */
  readonly run: (
    records: Records,
    key: string,
    handle: () => Promise<void>,
    event: Pick<SvcEvent, "type">,
  ) => Promise<number>;
  /** Returns the body of the response to a failed run. */
  readonly failure: (error: unknown) => string;
  /** The id of the finding of `doctor`. Undefined if it finds no mistake. */
  readonly finding?: string | undefined;
}

export const signatureOf = (body: Uint8Array | string, secret = "whsec_test"): string =>
  `sha256=${createHmac("sha256", secret).update(body).digest("hex")}`;

/** Reads a body. Resolves to undefined as soon as it exceeds 1 MiB. */
export async function collected(request: IncomingMessage): Promise<Buffer | undefined> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    if (bytes > 1_048_576) return undefined;
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

/** A correct receiver for `node:http` that does not use this library. */
export const goodReceiver: HandWrittenReceiver = {
  refusal: ({ method }) => (method === "POST" ? undefined : 405),
  read: collected,
  signature: ({ headers }) => String(headers["x-svc-signature"] ?? ""),
  isGenuine: (body, signature) =>
    /^sha256=[0-9a-f]{64}$/.test(signature) &&
    timingSafeEqual(Buffer.from(signature), Buffer.from(signatureOf(body))),
  parse(body) {
    const event = JSON.parse(new TextDecoder().decode(body)) as SvcEvent;
    if (typeof event.event_id !== "string") throw new Error("not an event");
    return event;
  },
  subscribes: (type) => type === "email.sent",
  key: ({ event_id }) => event_id,
  async run(records, key, handle) {
    const record = records.get(key);
    if (record) return record === "done" ? 200 : 503;
    records.set(key, "running");
    try {
      await handle();
    } catch (error) {
      records.delete(key);
      throw error;
    }
    records.set(key, "done");
    return 200;
  },
  failure: () => "failed",
};

/** Serves a hand-written receiver. */
export function serving(receiver: HandWrittenReceiver, handle: HandleEvent): RequestListener {
  const records: Records = new Map();

  async function statusOf(request: IncomingMessage): Promise<number> {
    const refusal = receiver.refusal(request);
    if (refusal !== undefined) return refusal;
    const body = await receiver.read(request);
    if (!body) return 413;
    const signature = receiver.signature(request);
    if (!receiver.isGenuine(body, signature)) return 401;
    let event: SvcEvent;
    try {
      event = receiver.parse(body);
    } catch {
      return 400;
    }
    if (!receiver.subscribes(event.type)) return 200;
    return receiver.run(records, receiver.key(event, request), () => handle(event), event);
  }

  return (request, response) =>
    void statusOf(request).then(
      (status) => response.writeHead(status).end(),
      (error: unknown) => response.writeHead(500).end(receiver.failure(error)),
    );
}

/** Serves a hand-written receiver while `use` runs with its URL. */
export async function whileServing<T>(
  receiver: HandWrittenReceiver,
  handle: HandleEvent,
  use: (url: string) => Promise<T>,
): Promise<T> {
  const server = createServer(serving(receiver, handle));
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  try {
    return await use(`http://127.0.0.1:${(server.address() as AddressInfo).port}/webhooks`);
  } finally {
    // Vitest would call `onTestFinished` of another test that runs at the same time.
    server.close();
    server.closeAllConnections();
  }
}
