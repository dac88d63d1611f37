/*
 * Messages of the PostgreSQL protocol, version 3. A message has a type of one byte, a length of four bytes, which
 * includes itself, and a body. The first messages of a client have no type.
 */

export interface Message {
  /** The letter of the type. Empty for the first messages of a client. */
  readonly type: string;
  readonly body: Buffer;
  /** The whole message. */
  readonly bytes: Buffer;
}

/** Returns a message whose body has these parts. Adds a zero byte to each text. */
export function messageWith(type: string, ...parts: readonly (string | Buffer)[]): Message {
  const body = Buffer.concat(
    parts.map((part) => (typeof part === "string" ? Buffer.from(`${part}\0`) : part)),
  );
  const head = Buffer.alloc(type.length + 4);
  head.write(type, "latin1");
  head.writeInt32BE(body.length + 4, type.length);
  return { type, body, bytes: Buffer.concat([head, body]) };
}

/**
 * Returns a function that accepts chunks and yields the messages that are complete.
 *
 * @param isTyped called before each message: returns whether it has a type
 */
export function messageSplitter(
  isTyped: () => boolean = () => true,
): (chunk: Buffer) => Iterable<Message> {
  let rest: Buffer = Buffer.alloc(0);
  return function* split(chunk) {
    rest = rest.length === 0 ? chunk : Buffer.concat([rest, chunk]);
    for (;;) {
      const head = isTyped() ? 1 : 0;
      if (rest.length < head + 4) return;
      const end = head + rest.readUInt32BE(head);
      if (rest.length < end) return;
      const bytes = rest.subarray(0, end);
      rest = rest.subarray(end);
      yield { type: bytes.toString("latin1", 0, head), body: bytes.subarray(head + 4), bytes };
    }
  };
}

/** Reads the text that begins at a position of a body and ends with a zero byte. */
export function textAt(body: Buffer, start: number): string {
  const end = body.indexOf(0, start);
  return body.toString("utf8", start, end === -1 ? body.length : end);
}

/** Reads the second text of a body. */
export const secondText = (body: Buffer): string => textAt(body, body.indexOf(0) + 1);

/** Returns the SQL text of a `Query` or `Parse` message, or undefined for any other message. */
export function sqlOf({ type, body }: Message): string | undefined {
  if (type === "Q") return textAt(body, 0);
  return type === "P" ? secondText(body) : undefined;
}

/** Returns an `ErrorResponse`. A fatal error ends the session. */
export const errorOf = (severity: "FATAL" | "ERROR", code: string, message: string): Message =>
  messageWith("E", `S${severity}`, `V${severity}`, `C${code}`, `M${message}`, "");

/** Collects the facts of a reply from its messages. */
export class Reply {
  /** The session's status after the reply: `I`: no transaction; `T`: in a transaction; `E`: in a failed transaction. */
  status = "I";
  /** The message of the first error. */
  error: string | undefined;
  /** The first column of the first row in which it is not NULL. */
  value: string | undefined;
  /** The command tags: `INSERT 0 1`, `COMMIT`. */
  readonly tags: string[] = [];

  read({ type, body }: Message): void {
    if (type === "Z") this.status = body.toString("latin1");
    if (type === "E") this.error ??= /\0M([^\0]*)/.exec(body.toString("utf8"))?.[1] ?? "an error";
    if (type === "C") this.tags.push(textAt(body, 0));
    if (type === "D" && body.readInt16BE(0) > 0 && body.readInt32BE(2) >= 0) {
      this.value ??= body.toString("utf8", 6, 6 + body.readInt32BE(2));
    }
  }
}
