import { randomBytes } from "node:crypto";
import type { Kind } from "../state/table.js";
import { clearInterval, clearTimeout, realNow, setInterval, setTimeout } from "../lib/timers.js";

/** A position in the stream of changes. */
export interface Position {
  /** Changes with every start and reset. */
  readonly epoch: string;
  /** Increases with every change. */
  readonly seq: number;
}

export interface Stream {
  readonly position: () => Position;
  /** Records that a record has changed. */
  readonly note: (kind: Kind, id: string) => void;
  /** The response to a client that has seen everything until `after`, an id of this stream. */
  readonly open: (after: string | undefined) => Response;
  /** Starts a new epoch: all clients ask for everything again. */
  readonly restart: () => void;
  readonly close: () => void;
}

export interface StreamOptions {
  /** The call that a record belongs to. */
  readonly callOf: (kind: Kind, id: string) => string | undefined;
  readonly counts: () => object;
  /** Real milliseconds between comments. A client that has read nothing for two of them is cut. Default 15,000. */
  readonly commentMs?: number;
}

/** Changed records that a client which comes back can be notified of. */
const keptNotices = 2_000;

/** Real milliseconds between two messages to a client: at most ten in a second. */
const betweenMs = 100;

interface Client {
  position: Position;
  /** It has read everything that was sent. */
  isReady: boolean;
  /** It had not read at the last comment. */
  isStalled: boolean;
  readonly controller: ReadableStreamDefaultController<Uint8Array>;
}

/** Server-sent events: which records have changed, never their content. */
export function createStream({ callOf, counts, commentMs = 15_000 }: StreamOptions): Stream {
  const clients = new Set<Client>();
  /** By record, the longest unchanged first: a record that changes often takes one place. */
  const notices = new Map<
    string,
    { readonly seq: number; readonly kind: Kind; readonly id: string }
  >();
  let epoch = newEpoch();
  let seq = 0;
  let lastForgotten = 0;
  let lastFlush = -Infinity;
  let flushing: NodeJS.Timeout | undefined;
  let commenting: NodeJS.Timeout | undefined;
  let isClosed = false;

  const write = (client: Client, text: string) => {
    client.isReady = false;
    client.controller.enqueue(new TextEncoder().encode(text));
  };

  const schedule = () => {
    if (flushing || clients.size === 0) return;
    flushing = setTimeout(flush, Math.max(0, lastFlush + betweenMs - realNow()));
    flushing.unref();
  };

  const flush = () => {
    flushing = undefined;
    lastFlush = realNow();
    let numbers: object | undefined;
    for (const client of clients) {
      const { position } = client;
      if (!client.isReady || (position.epoch === epoch && position.seq === seq)) continue;
      client.position = { epoch, seq };
      const id = `id: ${epoch}-${seq}\n`;
      if (position.epoch !== epoch || position.seq < lastForgotten || position.seq > seq) {
        write(client, `event: resync\n${id}data: ${JSON.stringify({ epoch, seq })}\n\n`);
      } else {
        numbers ??= counts();
        const data = JSON.stringify({ changed: changedSince(position.seq), counts: numbers });
        write(client, `event: change\n${id}data: ${data}\n\n`);
      }
    }
  };

  const changedSince = (last: number) =>
    Array.from(notices.values())
      .filter((notice) => notice.seq > last)
      .map(({ kind, id }) => ({ kind: kindOf(kind, id), id, call: callOf(kind, id) }));

  const comment = () => {
    for (const client of clients) {
      if (client.isReady) write(client, ": \n\n");
      else if (client.isStalled) {
        remove(client);
        client.controller.error(new Error("The client does not read."));
      } else client.isStalled = true;
    }
  };

  const add = (client: Client) => {
    clients.add(client);
    commenting ??= setInterval(comment, commentMs).unref();
  };

  const remove = (client: Client) => {
    clients.delete(client);
    if (clients.size > 0) return;
    clearInterval(commenting);
    commenting = undefined;
  };

  return {
    position: () => ({ epoch, seq }),
    note(kind, id) {
      // Keys of requests are not shown.
      if (kind === "idempotency") return;
      seq += 1;
      const key = `${kind} ${id}`;
      notices.delete(key);
      notices.set(key, { seq, kind, id });
      if (notices.size > keptNotices) {
        for (const [oldest, notice] of notices) {
          notices.delete(oldest);
          lastForgotten = notice.seq;
          break;
        }
      }
      schedule();
    },
    open(after) {
      const position = after === undefined ? { epoch, seq } : parsePosition(after);
      let client: Client | undefined;
      const body = new ReadableStream<Uint8Array>(
        {
          // Called when the client has read everything, so at most one message waits for it.
          pull(controller) {
            if (isClosed) controller.close();
            else if (!client) {
              client = { position, isReady: false, isStalled: false, controller };
              add(client);
              const id = after === undefined ? `id: ${position.epoch}-${position.seq}\n` : "";
              write(client, `retry: 1000\n${id}\n`);
            } else {
              client.isReady = true;
              client.isStalled = false;
              if (client.position.epoch !== epoch || client.position.seq !== seq) schedule();
            }
          },
          cancel() {
            if (client) remove(client);
          },
        },
        { highWaterMark: 0 },
      );
      return new Response(body, { headers: { "Content-Type": "text/event-stream" } });
    },
    restart() {
      epoch = newEpoch();
      seq = 0;
      lastForgotten = 0;
      notices.clear();
      schedule();
    },
    close() {
      isClosed = true;
      clearTimeout(flushing);
      for (const client of clients) {
        remove(client);
        client.controller.close();
      }
    },
  };
}

/** Random even if ids are repeatable: after a restart, an old position must not seem to be a new one. */
const newEpoch = () => randomBytes(6).toString("hex");

/** A text that is not an id of a stream belongs to no epoch. */
function parsePosition(text: string): Position {
  const [, epoch = "", seq = "0"] = /^([0-9a-f]{12})-(\d{1,15})$/.exec(text) ?? [];
  return { epoch, seq: Number(seq) };
}

const kindOf = (kind: Kind, id: string): string => {
  if (kind !== "setting") return kind;
  return id.startsWith("A-") ? "assumption" : id;
};
