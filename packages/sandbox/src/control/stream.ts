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
  /** Records that a record has changed. */
  readonly note: (kind: Kind, id: string) => void;
  /**
   * Returns the stream for a client that has seen everything up to `after`, an event id of this stream.
   * @throws ApiError 503 `too_many_streams`
   */
  readonly open: (after: string | undefined) => Response;
  /** Starts a new epoch: all clients ask for everything again. */
  readonly restart: () => void;
  readonly close: () => void;
}

export interface StreamOptions {
  /** The call that a record belongs to. */
  readonly callOf: (kind: Kind, id: string) => string | undefined;
  readonly counts: () => object;
  /** How often a comment is sent, in real milliseconds. A client that reads nothing for two intervals is disconnected. Default 15,000. */
  readonly commentMs?: number;
}

/** Changed records that are kept for clients that reconnect. */
const keptNotices = 2_000;

/** Streams that are served at the same time: each costs a message for each change, and its connection. */
const mostStreams = 100;

/** Real milliseconds between two messages to a client: at most ten in a second. */
const betweenMs = 100;

interface Client {
  position: Position;
  /** Whether the client has read everything that was sent. */
  isReady: boolean;
  /** Whether the client had read nothing by the last comment. */
  isStalled: boolean;
  readonly controller: ReadableStreamDefaultController<Uint8Array>;
}

interface Notice {
  readonly seq: number;
  readonly kind: Kind;
  readonly id: string;
}

/** The changes of an epoch, the newest {@link keptNotices} of them. */
function createNotices() {
  /** The last change of each record, the longest unchanged first. */
  const notices = new Map<string, Notice>();
  let epoch = newEpoch();
  let seq = 0;
  let lastForgotten = 0;
  return {
    newest: (): Position => ({ epoch, seq }),
    isNewest: (position: Position): boolean => position.epoch === epoch && position.seq === seq,
    /** The changes after a position; undefined if they are not known. */
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

/** Server-sent events: which records have changed, never their content. */
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
    /** Messages by the position of the clients that receive them. */
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
    position: notices.newest,
    note(kind, id) {
      // Keys of requests are not shown.
      if (kind === "idempotency") return;
      notices.note(kind, id);
      schedule();
    },
    open(after) {
      if (clients.size >= mostStreams) {
        throw new ApiError(
          503,
          "too_many_streams",
          `${mostStreams} streams of changes are open, and more are not served. Close some of the pages that show the sandbox.`,
          { headers: { "Retry-After": "2" } },
        );
      }
      const position = after === undefined ? notices.newest() : parsePosition(after);
      let client: Client | undefined;
      const body = new ReadableStream<Uint8Array>(
        {
          // This is called when the client has read everything, so at most one message waits for it.
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

/** The message with the changes since a position, or with the position to continue from if they are not known. */
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
