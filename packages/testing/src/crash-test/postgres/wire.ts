/*
 * Messages of the PostgreSQL protocol, version 3: a type byte, the length in 4 bytes including itself, the contents.
 */

export interface Message {
  readonly type: string;
  readonly body: Buffer;
}

/** Returns the complete messages at the start of `bytes`, and the rest. */
export function messagesIn(bytes: Buffer): {
  readonly messages: readonly Message[];
  readonly rest: Buffer;
} {
  const messages: Message[] = [];
  let at = 0;
  while (bytes.length >= at + 5) {
    const end = at + 1 + bytes.readInt32BE(at + 1);
    if (bytes.length < end) break;
    messages.push({
      type: String.fromCharCode(Number(bytes[at])),
      body: bytes.subarray(at + 5, end),
    });
    at = end;
  }
  return { messages, rest: bytes.subarray(at) };
}

export function written({ type, body }: Message): Buffer {
  const head = Buffer.alloc(5);
  head.write(type, 0, "latin1");
  head.writeInt32BE(body.length + 4, 1);
  return Buffer.concat([head, body]);
}

const cstring = (value: string): Buffer => Buffer.from(`${value}\0`);

const int32 = (value: number): Buffer => {
  const bytes = Buffer.alloc(4);
  bytes.writeInt32BE(value);
  return bytes;
};

/** The server's reply to a startup message: no password, and the settings that clients read. */
export const greeting = (pid: number): Buffer =>
  Buffer.concat([
    written({ type: "R", body: int32(0) }),
    ...Object.entries({
      server_version: "17.0",
      client_encoding: "UTF8",
      DateStyle: "ISO, MDY",
      TimeZone: "UTC",
    }).map(([name, value]) =>
      written({ type: "S", body: Buffer.concat([cstring(name), cstring(value)]) }),
    ),
    written({ type: "K", body: Buffer.concat([int32(pid), int32(0)]) }),
    readyForQuery("I"),
  ]);

/** An `ErrorResponse`. */
const errorOf = (severity: "FATAL" | "ERROR", code: string, message: string): Buffer => {
  const fields = [`S${severity}`, `V${severity}`, `C${code}`, `M${message}`].map(cstring);
  return written({ type: "E", body: Buffer.concat([...fields, Buffer.alloc(1)]) });
};

const readyForQuery = (status: string): Buffer => written({ type: "Z", body: Buffer.from(status) });

/** An error with which the server ends a session. */
export const fatal = (code: string, message: string): Buffer => errorOf("FATAL", code, message);

/** An error of a statement, before the client ends the exchange. */
export const statementError = (message: string): Buffer => errorOf("ERROR", "0A000", message);

/** An error of a statement, after which the session continues. */
export const refusal = (message: string, isInTransaction: boolean): Buffer =>
  Buffer.concat([statementError(message), readyForQuery(isInTransaction ? "T" : "I")]);

/** A simple query. */
export const query = (sql: string): Buffer => written({ type: "Q", body: cstring(sql) });

const untilZero = (body: Buffer, from = 0): string =>
  body.toString("utf8", from, body.indexOf(0, from));

/** Returns the SQL text of a `Query` or `Parse` message. */
export function sqlOf({ type, body }: Message): string | undefined {
  if (type === "Q") return untilZero(body);
  return type === "P" ? untilZero(body, body.indexOf(0) + 1) : undefined;
}

/** Returns the parameters of a `Bind` message that are text. */
export function parametersOf({ body }: Message): readonly string[] {
  let at = body.indexOf(0, body.indexOf(0) + 1) + 1;
  at += 2 + 2 * body.readInt16BE(at);
  const count = body.readInt16BE(at);
  at += 2;
  return Array.from({ length: count }, () => {
    const length = body.readInt32BE(at);
    const value = length < 0 ? "" : body.toString("utf8", at + 4, at + 4 + length);
    at += 4 + Math.max(length, 0);
    return value;
  });
}

const idleTimeout = /(idle_in_transaction_session_timeout'\s*,\s*')(\d+)'/;

/** Returns the idle timeout that an SQL text sets for its transaction, in milliseconds. */
export const idleTimeoutIn = (sql: string): number | undefined => {
  const [, , ms] = idleTimeout.exec(sql) ?? [];
  return ms === undefined ? undefined : Number(ms);
};

/**
 * Replaces the idle timeout in a message by 0, of the same length: the server of the history applies it, and PGlite
 * would end its only session.
 */
export function withoutIdleTimeout(message: Message): Message {
  if (message.type !== "Q" && message.type !== "P") return message;
  const text = message.body.toString("latin1");
  if (!idleTimeout.test(text)) return message;
  const replaced = text.replace(
    idleTimeout,
    (_all, before: string, ms: string) => `${before}${"0".repeat(ms.length)}'`,
  );
  return { type: message.type, body: Buffer.from(replaced, "latin1") };
}

/**
 * Adds a prefix to the name of the prepared statement in a message. All connections share one session, in which equal
 * names would collide. Statements without a name stay without one.
 */
export function inSession(message: Message, prefix: string): Message {
  const { type, body } = message;
  const place =
    type === "P" ? 0 : type === "B" ? body.indexOf(0) + 1 : type === "D" || type === "C" ? 1 : -1;
  const isPortal = (type === "D" || type === "C") && body[0] !== "S".charCodeAt(0);
  if (place === -1 || isPortal || body[place] === 0) return message;
  const renamed = [body.subarray(0, place), Buffer.from(prefix), body.subarray(place)];
  return { type, body: Buffer.concat(renamed) };
}

/** The facts of a reply. */
export interface Reply {
  /** `I`: no transaction; `T`: in a transaction; `E`: in a failed one. */
  readonly status: string;
  /** The message of the first error. */
  readonly error: string | undefined;
  /** The first column of the first row. */
  readonly value: string | undefined;
  /** The command tags: `INSERT 0 1`, `COMMIT`. */
  readonly tags: readonly string[];
}

export function replyOf(bytes: Buffer): Reply {
  let status = "I";
  let error: string | undefined;
  let value: string | undefined;
  const tags: string[] = [];
  for (const { type, body } of messagesIn(bytes).messages) {
    if (type === "Z") status = body.toString("latin1");
    if (type === "E") error ??= /\0M([^\0]*)/.exec(body.toString("utf8"))?.[1] ?? "error";
    if (type === "C") tags.push(untilZero(body));
    if (type === "D" && body.readInt16BE(0) > 0 && body.readInt32BE(2) >= 0) {
      value ??= body.toString("utf8", 6, 6 + body.readInt32BE(2));
    }
  }
  return { status, error, value, tags };
}
