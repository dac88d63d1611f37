/*
 * Splits streams of PostgreSQL's protocol into messages. A message has a type of one byte and a length of four, which
 * counts itself. The first messages of a client have no type.
 */

export interface Message {
  /** The letter of the type. Empty for the first messages of a client. */
  readonly type: string;
  /** The whole message. */
  readonly bytes: Buffer;
}

/** Returns a function that accepts chunks and returns the messages that are complete. */
export function messageSplitter(isTyped: () => boolean): (chunk: Buffer) => readonly Message[] {
  let rest: Buffer = Buffer.alloc(0);
  return (chunk) => {
    rest = rest.length === 0 ? chunk : Buffer.concat([rest, chunk]);
    const found: Message[] = [];
    for (;;) {
      const head = isTyped() ? 1 : 0;
      if (rest.length < head + 4) return found;
      const length = head + rest.readUInt32BE(head);
      if (rest.length < length) return found;
      const type = head === 0 ? "" : String.fromCodePoint(rest[0] ?? 0);
      found.push({ type, bytes: rest.subarray(0, length) });
      rest = rest.subarray(length);
      // The caller decides by the first message whether the next ones have a type.
      if (head === 0) return found;
    }
  };
}

/** Reads the text that begins at a position and ends with a zero byte. */
export function textAt(bytes: Buffer, start: number): string {
  const end = bytes.indexOf(0, start);
  return bytes.toString("utf8", start, end === -1 ? bytes.length : end);
}

/** The SQL texts of the statements of one connection, by the name that the client prepared them with. */
export class Statements {
  readonly #prepared = new Map<string, string>();

  /** Returns the SQL text that a message executes, or undefined if it executes none. */
  read({ type, bytes }: Message): string | undefined {
    if (type === "Q") return textAt(bytes, 5);
    if (type === "P") {
      const name = textAt(bytes, 5);
      this.#prepared.set(name, textAt(bytes, 5 + Buffer.byteLength(name) + 1));
    }
    if (type === "B") {
      const portal = textAt(bytes, 5);
      return this.#prepared.get(textAt(bytes, 5 + Buffer.byteLength(portal) + 1)) ?? "";
    }
    return undefined;
  }
}

/** Reads the parameters of a startup message, such as `user` and `database`. */
export function startupParameters(bytes: Buffer): Readonly<Record<string, string>> {
  const texts = bytes.toString("utf8", 8).split("\0");
  const pairs: [string, string][] = [];
  for (let at = 0; texts[at]; at += 2) pairs.push([texts[at] ?? "", texts[at + 1] ?? ""]);
  return Object.fromEntries(pairs);
}

/** Returns the message field of an `ErrorResponse`. */
export function errorText(bytes: Buffer): string {
  const fields = bytes.toString("utf8", 5).split("\0");
  return fields.find((field) => field.startsWith("M"))?.slice(1) ?? "an error";
}

/** Makes an `ErrorResponse` that ends the connection. */
export function fatalError(message: string): Buffer {
  const body = Buffer.from(`SFATAL\0VFATAL\0C3D000\0M${message}\0\0`);
  const head = Buffer.alloc(5);
  head.write("E");
  head.writeUInt32BE(body.length + 4, 1);
  return Buffer.concat([head, body]);
}
