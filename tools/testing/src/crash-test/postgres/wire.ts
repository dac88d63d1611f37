import {
  errorOf,
  messageWith,
  messageSplitter,
  Reply,
  type Message,
} from "@svc-webhooks/crash-test/postgres";

const int32 = (value: number): Buffer => {
  const bytes = Buffer.alloc(4);
  bytes.writeInt32BE(value);
  return bytes;
};

const readyForQuery = (status: string): Message => messageWith("Z", Buffer.from(status));

const bytesOf = (messages: readonly Message[]): Buffer =>
  Buffer.concat(messages.map(({ bytes }) => bytes));

/** Returns the server's reply to a startup message. It requests no password, and has the settings that clients read. */
export const greeting = (pid: number): Buffer =>
  bytesOf([
    messageWith("R", int32(0)),
    messageWith("S", "server_version", "17.0"),
    messageWith("S", "client_encoding", "UTF8"),
    messageWith("S", "DateStyle", "ISO, MDY"),
    messageWith("S", "TimeZone", "UTC"),
    messageWith("K", int32(pid), int32(0)),
    readyForQuery("I"),
  ]);

/** Returns the error of a statement in an exchange that the client has not ended yet. */
export const statementError = (message: string): Message => errorOf("ERROR", "0A000", message);

/** Returns the error of a statement and the end of its exchange, after which the session continues. */
export const refusal = (message: string, isInTransaction: boolean): Buffer =>
  bytesOf([statementError(message), readyForQuery(isInTransaction ? "T" : "I")]);

/** Returns the message of a simple query. */
export const query = (sql: string): Buffer => messageWith("Q", sql).bytes;

/** Returns the parameters of a `Bind` message as text. NULL becomes an empty text. */
export function parametersOf({ body }: Message): readonly string[] {
  let offset = body.indexOf(0, body.indexOf(0) + 1) + 1;
  offset += 2 + 2 * body.readInt16BE(offset);
  const count = body.readInt16BE(offset);
  offset += 2;
  return Array.from({ length: count }, () => {
    const length = body.readInt32BE(offset);
    const value = length < 0 ? "" : body.toString("utf8", offset + 4, offset + 4 + length);
    offset += 4 + Math.max(length, 0);
    return value;
  });
}

const idleTimeout = /(idle_in_transaction_session_timeout'\s*,\s*')(\d+)'/;

/** Returns the idle timeout that an SQL text sets for its transaction, in milliseconds. Undefined if it sets none. */
export const idleTimeoutIn = (sql: string): number | undefined => {
  const [, , ms] = idleTimeout.exec(sql) ?? [];
  return ms === undefined ? undefined : Number(ms);
};

/**
 * Replaces the digits of the idle timeout in a message with zeros, which turn the timeout off. The simulated server
 * applies the timeout; PGlite would end its only session.
 */
export function withoutIdleTimeout(message: Message): Message {
  if (message.type !== "Q" && message.type !== "P") return message;
  const text = message.body.toString("latin1");
  if (!idleTimeout.test(text)) return message;
  const replaced = text.replace(
    idleTimeout,
    (_all, before: string, ms: string) => `${before}${"0".repeat(ms.length)}'`,
  );
  return messageWith(message.type, Buffer.from(replaced, "latin1"));
}

/**
 * Adds a prefix to the name of the prepared statement in a message. All connections share one session, in which equal
 * names would collide. Unnamed statements stay unnamed.
 */
export function inSession(message: Message, prefix: string): Message {
  const { type, body } = message;
  const place =
    type === "P" ? 0 : type === "B" ? body.indexOf(0) + 1 : type === "D" || type === "C" ? 1 : -1;
  const isPortal = (type === "D" || type === "C") && body[0] !== "S".charCodeAt(0);
  if (place === -1 || isPortal || body[place] === 0) return message;
  return messageWith(type, body.subarray(0, place), Buffer.from(prefix), body.subarray(place));
}

export function replyOf(bytes: Buffer): Reply {
  const reply = new Reply();
  for (const message of messageSplitter()(bytes)) reply.read(message);
  return reply;
}
