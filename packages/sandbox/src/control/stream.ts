import { randomBytes } from "node:crypto";
import { ApiError } from "../errors.js";
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
  /** Notes that a record has changed. */
  readonly note: (kind: Kind, id: string) => void;
  /**
   * Returns the stream for a client that has seen everything up to `after`, an event id of this stream.
   * @throws ApiError 503 `too_many_streams`
   */
  readonly open: (after: string | undefined) => Response;
  /** Starts a new epoch, which makes all clients reload everything. */
  readonly restart: () => void;
  readonly close: () => void;
}

export interface StreamOptions {
  /** Returns the call that a record belongs to. */
  readonly callOf: (kind: Kind, id: string) => string | undefined;
  readonly counts: () => object;
  /** How often a comment is sent, in real milliseconds. A client that reads nothing for two intervals is disconnected. Default 15,000. */
  readonly commentMs?: number;
}

/** The most changed records that are kept for clients that reconnect. */
const keptNotices = 2_000;

/** The most streams that are served at the same time. Each costs a connection, and a message for each change. */
const mostStreams = 100;

/** The minimum real time between two messages to a client, in milliseconds: at most ten messages a second. */
const betweenMs = 100;

interface Client {
  position: Position;
  /** Whether the client has read everything that was sent. */
  isReady: boolean;
  /** Whether the client had a message left to read at the last comment. */
  isStalled: boolean;
  readonly controller: ReadableStreamDefaultController<Uint8Array>;
}

interface Notice {
  readonly seq: number;
  readonly kind: Kind;
  readonly id: string;
}

/** Keeps the last change of each record in an epoch, at most {@link keptNotices} of them. */
function createNotices() {
  /** The last change of each record, oldest first. */
  const notices = new Map<string, Notice>();
  let epoch = newEpoch();
  let seq = 0;
  let lastForgotten = 0;
  return {
    newest: (): Position => ({ epoch, seq }),
    isNewest: (position: Position): boolean => position.epoch === epoch && position.seq === seq,
    /** Returns the changes after a position, or undefined if they are not available. */
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

/** Serves server-sent events that name the changed records but never contain their data. */
export function createStream(options: StreamOptions): Stream {
  const { commentMs = 15_000 } = options;
  const clients = new Set<Client>();
  const notices = createNotices();
  let lastFlush = -Infinity;
  let flushing: NodeJS.Timeout | undefined;
  let commenting: NodeJS.Timeout | undefined;
  let isClosed = false;

  const write = (client: Client, message: Uint8Array) => {
    client.isReady = false;
    client.controller.enqueue(message);
  };

  const schedule = () => {
    if (flushing || clients.size === 0) return;
    flushing = setTimeout(flush, Math.max(0, lastFlush + betweenMs - realNow()));
    flushing.unref();
  };

  const flush = () => {
    flushing = undefined;
    lastFlush = realNow();
    /** Messages, keyed by the position of the clients that receive them. */
    const messages = new Map<string, Uint8Array>();
    for (const client of clients) {
      const { position } = client;
      if (!client.isReady || notices.isNewest(position)) continue;
      client.position = notices.newest();
      const from = `${position.epoch}-${position.seq}`;
      const message = messages.get(from) ?? messageSince(position, notices, options);
      messages.set(from, message);
      write(client, message);
    }
  };

  const comment = () => {
    for (const client of clients) {
      if (client.isReady) write(client, encoded(": \n\n"));
      else if (client.isStalled) {
        remove(client);
        client.controller.error(new Error("The client has stopped reading."));
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
    position: notices.newest,
    note(kind, id) {
      // Idempotency records are not shown anywhere, so their changes are not reported.
      if (kind === "idempotency") return;
      notices.note(kind, id);
      schedule();
    },
    open(after) {
      if (clients.size >= mostStreams) {
        throw new ApiError(
          503,
          "too_many_streams",
          `${mostStreams} change streams are already open, which is the maximum. Close some of the sandbox's pages.`,
          { headers: { "Retry-After": "2" } },
        );
      }
      const position = after === undefined ? notices.newest() : parsePosition(after);
      let client: Client | undefined;
      const body = new ReadableStream<Uint8Array>(
        {
          // Called once the client has read everything, so that at most one message is queued.
          pull(controller) {
            if (isClosed) controller.close();
            else if (!client) {
              client = { position, isReady: false, isStalled: false, controller };
              add(client);
              const id = after === undefined ? `id: ${position.epoch}-${position.seq}\n` : "";
              write(client, encoded(`retry: 1000\n${id}\n`));
            } else {
              client.isReady = true;
              client.isStalled = false;
              if (!notices.isNewest(client.position)) schedule();
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
      notices.restart();
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

/**
 * Returns the message with the changes since a position. If those are not available, the message contains the position
 * to continue from.
 */
function messageSince(
  position: Position,
  notices: Notices,
  { callOf, counts }: StreamOptions,
): Uint8Array {
  const changed = notices.since(position);
  const { epoch, seq } = notices.newest();
  const data = changed
    ? {
        changed: changed.map(({ kind, id }) => ({
          kind: kindOf(kind, id),
          id,
          call: callOf(kind, id),
        })),
        counts: counts(),
      }
    : { epoch, seq };
  return encoded(
    `event: ${changed ? "change" : "resync"}\nid: ${epoch}-${seq}\ndata: ${JSON.stringify(data)}\n\n`,
  );
}

const encoder = new TextEncoder();

const encoded = (text: string) => encoder.encode(text);

/** Random even if ids are repeatable: after a restart, a position of the old epoch must not look valid. */
const newEpoch = () => randomBytes(6).toString("hex");

/** Parses an event id of the stream. Any other text gives a position that belongs to no epoch. */
function parsePosition(text: string): Position {
  const [, epoch = "", seq = "0"] = /^([0-9a-f]{12})-(\d{1,15})$/.exec(text) ?? [];
  return { epoch, seq: Number(seq) };
}

const kindOf = (kind: Kind, id: string): string => {
  if (kind !== "setting") return kind;
  return id.startsWith("A-") ? "assumption" : id;
};
