import { randomBytes } from "node:crypto";
import { ApiError } from "../errors.js";
import type { Kind } from "../state/table.js";
import { clearInterval, clearTimeout, realNow, setInterval, setTimeout } from "../lib/timers.js";

/** A position in the stream of changes. */
export interface Position {
  /** Changes with every start, reset and rewind. */
  readonly epoch: string;
  /** The number of changes since the epoch began. */
  readonly seq: number;
}

export interface Stream {
  readonly position: () => Position;
  /** Notifies the clients that a record has changed. */
  readonly note: (kind: Kind, id: string) => void;
  /**
   * Returns the stream of the changes after `after`, the last event id that the client has received. If some of these
   * are not available, the first message makes the client reload. Without `after`, begins with the next change.
   * @throws ApiError 503 `too_many_streams`
   */
  readonly open: (after: string | undefined) => Response;
  /** Starts a new epoch, which makes all clients reload everything. */
  readonly restart: () => void;
  readonly close: () => void;
}

export interface StreamOptions {
  /** Returns the id of the call that a record belongs to, or undefined if it belongs to none. */
  readonly callOf: (kind: Kind, id: string) => string | undefined;
  readonly counts: () => object;
  /**
   * The interval between comments, in real milliseconds. A client that does not read a message is disconnected after
   * one to two intervals. Default 15,000.
   */
  readonly commentMs?: number;
}

/** The maximum number of changed records that are remembered for clients that reconnect or are slow. */
const keptNotices = 2_000;

/** The maximum number of open streams. Each costs a connection, and up to ten messages a second. */
const mostStreams = 100;

/** The minimum real time between two change messages to a client, in milliseconds. It allows ten messages a second. */
const betweenMs = 100;

/**
 * A client of the stream, in one of three states:
 *
 * - **ready**: it has read everything that was sent. A message → reading.
 * - **reading**: it has not read its last message yet. It reads the message → ready. A comment is due → stalled.
 * - **stalled**: it had not read its last message when a comment was due. It reads the message → ready. The next
 *   comment is due → it is disconnected.
 */
interface Client {
  state: "ready" | "reading" | "stalled";
  /** All changes up to this position have been sent to the client. */
  position: Position;
  readonly controller: ReadableStreamDefaultController<Uint8Array>;
}

interface Notice {
  readonly seq: number;
  readonly kind: Kind;
  readonly id: string;
}

/** Keeps the last change of each record in the current epoch, for at most {@link keptNotices} records. */
function createNotices() {
  /** The last change of each record, oldest first. */
  const notices = new Map<string, Notice>();
  let epoch = newEpoch();
  let seq = 0;
  let lastForgotten = 0;
  return {
    newest: (): Position => ({ epoch, seq }),
    isNewest: (position: Position): boolean => position.epoch === epoch && position.seq === seq,
    /** Returns the changes after a position, or undefined if some of them are not available. */
    since(position: Position): readonly Notice[] | undefined {
      const isLost = position.epoch !== epoch || position.seq < lastForgotten || position.seq > seq;
      return isLost
        ? undefined
        : Array.from(notices.values()).filter((notice) => notice.seq > position.seq);
    },
    note(kind: Kind, id: string): void {
      seq += 1;
      const key = `${kind} ${id}`;
      notices.delete(key);
      notices.set(key, { seq, kind, id });
      if (notices.size <= keptNotices) return;
      for (const [oldest, notice] of notices) {
        notices.delete(oldest);
        lastForgotten = notice.seq;
        break;
      }
    },
    restart(): void {
      epoch = newEpoch();
      seq = 0;
      lastForgotten = 0;
      notices.clear();
    },
  };
}

type Notices = ReturnType<typeof createNotices>;

/** Manages the connected clients. Every `commentMs`, sends a comment to each client that is ready. */
function createClients(commentMs: number) {
  const clients = new Set<Client>();
  let commenting: NodeJS.Timeout | undefined;

  const write = (client: Client, message: Uint8Array) => {
    client.state = "reading";
    client.controller.enqueue(message);
  };

  const remove = (client: Client) => {
    clients.delete(client);
    if (clients.size > 0) return;
    clearInterval(commenting);
    commenting = undefined;
  };

  const comment = () => {
    for (const client of clients) {
      if (client.state === "ready") write(client, encoded(": \n\n"));
      else if (client.state === "reading") client.state = "stalled";
      else {
        remove(client);
        client.controller.error(new Error("The client has stopped reading."));
      }
    }
  };

  return {
    all: clients as ReadonlySet<Client>,
    write,
    remove,
    add(controller: Client["controller"], position: Position): Client {
      const client: Client = { state: "ready", position, controller };
      clients.add(client);
      commenting ??= setInterval(comment, commentMs).unref();
      return client;
    },
    close(): void {
      for (const client of clients) {
        remove(client);
        client.controller.close();
      }
    },
  };
}

/** Creates the stream of changes: server-sent events with the ids of changed records, but without their data. */
export function createStream(options: StreamOptions): Stream {
  const clients = createClients(options.commentMs ?? 15_000);
  const notices = createNotices();
  let lastFlush = -Infinity;
  let flushing: NodeJS.Timeout | undefined;
  let isClosed = false;

  const schedule = () => {
    if (flushing || clients.all.size === 0) return;
    flushing = setTimeout(flush, Math.max(0, lastFlush + betweenMs - realNow()));
    flushing.unref();
  };

  const flush = () => {
    flushing = undefined;
    lastFlush = realNow();
    /** The messages, by the position of a client before the message. Clients at the same position share a message. */
    const messages = new Map<string, Uint8Array>();
    for (const client of clients.all) {
      const { position } = client;
      if (client.state !== "ready" || notices.isNewest(position)) continue;
      client.position = notices.newest();
      const from = eventId(position);
      const message = messages.get(from) ?? messageSince(position, notices, options);
      messages.set(from, message);
      clients.write(client, message);
    }
  };

  /** Returns the stream of a client, which starts with `hello`. */
  const bodyFrom = (position: Position, hello: string) => {
    let client: Client | undefined;
    return new ReadableStream<Uint8Array>(
      {
        // Runs only while the client waits for data. Only this call makes the client ready, so at most one message is
        // queued.
        pull(controller) {
          if (isClosed) controller.close();
          else if (!client) {
            client = clients.add(controller, position);
            clients.write(client, encoded(hello));
          } else {
            client.state = "ready";
            if (!notices.isNewest(client.position)) schedule();
          }
        },
        cancel() {
          if (client) clients.remove(client);
        },
      },
      { highWaterMark: 0 },
    );
  };

  return {
    position: notices.newest,
    note(kind, id) {
      // Idempotency records are not shown anywhere, so their changes are not reported.
      if (kind === "idempotency") return;
      notices.note(kind, id);
      schedule();
    },
    open(after) {
      if (clients.all.size >= mostStreams) throw tooManyStreams();
      const position = after === undefined ? notices.newest() : parsePosition(after);
      const id = after === undefined ? `id: ${eventId(position)}\n` : "";
      return new Response(bodyFrom(position, `retry: 1000\n${id}\n`), {
        headers: { "Content-Type": "text/event-stream" },
      });
    },
    restart() {
      notices.restart();
      schedule();
    },
    close() {
      isClosed = true;
      clearTimeout(flushing);
      clients.close();
    },
  };
}

const tooManyStreams = () =>
  new ApiError(
    503,
    "too_many_streams",
    `${mostStreams} change streams are already open, which is the maximum. Close some of the browser tabs that show the sandbox.`,
    { headers: { "Retry-After": "2" } },
  );

/**
 * Returns the message with the changes since a position. If some of them are not available, returns a `resync` message
 * with the newest position instead.
 */
function messageSince(
  position: Position,
  notices: Notices,
  { callOf, counts }: StreamOptions,
): Uint8Array {
  const changed = notices.since(position);
  const newest = notices.newest();
  const data = changed
    ? {
        changed: changed.map(({ kind, id }) => ({
          kind: kindOf(kind, id),
          id,
          call: callOf(kind, id),
        })),
        counts: counts(),
      }
    : newest;
  return encoded(
    `event: ${changed ? "change" : "resync"}\nid: ${eventId(newest)}\ndata: ${JSON.stringify(data)}\n\n`,
  );
}

const encoder = new TextEncoder();

const encoded = (text: string) => encoder.encode(text);

/** Returns an epoch that is random even if a `seed` makes ids repeatable, so that it differs after each restart. */
const newEpoch = () => randomBytes(6).toString("hex");

const eventId = ({ epoch, seq }: Position): string => `${epoch}-${seq}`;

/** Parses an event id of the stream. For any other text, returns a position that belongs to no epoch. */
function parsePosition(text: string): Position {
  const [, epoch = "", seq = "0"] = /^([0-9a-f]{12})-(\d{1,15})$/.exec(text) ?? [];
  return { epoch, seq: Number(seq) };
}

const kindOf = (kind: Kind, id: string): string => {
  if (kind !== "setting") return kind;
  return id.startsWith("A-") ? "assumption" : id;
};
