import { createServer, type Socket } from "node:net";
import type { Exchanges } from "../crossings.js";
import type { RedisGuard } from "./redis-guard.js";
import { connectUpstream, listening, type Listening } from "./listening.js";

/*
 * A proxy for Redis. It splits the bytes of a connection (RESP 2 and 3) into commands and replies, and forwards
 * pipelined commands one at a time, so that each can be an exchange of its own.
 */

/** Returns the position after the value that begins at `offset`, or undefined if it is not complete. */
export function endOfValue(bytes: Buffer, offset: number): number | undefined {
  if (offset >= bytes.length) return undefined;
  const line = bytes.indexOf("\r\n", offset);
  if (line === -1) return undefined;
  const type = String.fromCodePoint(bytes[offset] ?? 0);
  const length = Number(bytes.toString("latin1", offset + 1, line));
  const next = line + 2;
  if (/[$!=]/.test(type)) {
    if (length < 0) return next;
    return bytes.length < next + length + 2 ? undefined : next + length + 2;
  }
  if (!/[*~>%|]/.test(type)) return next;
  let end: number | undefined = next;
  // An attribute has one value more than its entries, because the value that it describes follows.
  const values = /[%|]/.test(type) ? 2 * length + (type === "|" ? 1 : 0) : Math.max(length, 0);
  for (let left = values; left > 0 && end !== undefined; left -= 1) end = endOfValue(bytes, end);
  return end;
}

/** Writes a command in Redis's protocol, as an array of strings. */
export const commandOf = (words: readonly string[]): string =>
  `*${words.length}\r\n${words.map((word) => `$${Buffer.byteLength(word)}\r\n${word}\r\n`).join("")}`;

/** Returns the words of a command, which is an array or a line. A line with quotes or line breaks is one word. */
export function wordsOf(command: Buffer): readonly string[] {
  if (command[0] !== 42) {
    const line = command.toString("utf8").trim();
    return /["'\n]/.test(line) ? [line] : line.split(/\s+/);
  }
  const words: string[] = [];
  for (let offset = command.indexOf("\r\n") + 2; offset < command.length;) {
    const start = command.indexOf("\r\n", offset) + 2;
    const end = start + Number(command.toString("latin1", offset + 1, start - 2));
    words.push(command.toString("utf8", start, end));
    offset = end + 2;
  }
  return words;
}

function splitter(): (chunk: Buffer) => readonly Buffer[] {
  let rest: Buffer = Buffer.alloc(0);
  return (chunk) => {
    rest = rest.length === 0 ? chunk : Buffer.concat([rest, chunk]);
    const values: Buffer[] = [];
    for (;;) {
      const end = rest.length === 0 ? undefined : endOfValue(rest, 0);
      if (end === undefined) return values;
      values.push(rest.subarray(0, end));
      rest = rest.subarray(end);
    }
  };
}

/** Matches commands about the connection or the server, which are not exchanges. */
const ofConnection =
  /^(?:HELLO|AUTH|CLIENT|SELECT|PING|INFO|COMMAND|CONFIG|READONLY|QUIT|RESET|SCRIPT|FUNCTION|ECHO|CLUSTER|ROLE|WAIT|TIME)$/;

/** Matches commands that have a further effect when they are repeated. */
const repeating =
  /^(?:INCR|INCRBY|INCRBYFLOAT|DECR|DECRBY|APPEND|[LR]PUSHX?|XADD|PUBLISH|HINCRBY|HINCRBYFLOAT|ZINCRBY)$/;

/**
 * Returns the facts about a command. The name includes the key up to its first `:` or `{`, if that part is a plain
 * word.
 */
export function factsOfCommand(words: readonly string[]) {
  const [command = "", first = "", , third = ""] = words;
  const name = command.toUpperCase();
  const key = /^(?:EVAL|EVALSHA|FCALL)/.test(name) ? third : first;
  const [prefix = ""] = key.split(/[:{]/);
  const text = /^[\w.-]{1,40}$/.test(prefix) ? `${name} ${prefix}` : name;
  return {
    name: text,
    kind: "call" as const,
    effects: repeating.test(name) ? [text] : [],
    reads: [],
  };
}

export interface RedisProxyOptions {
  readonly process: string;
  readonly host: string;
  readonly port: number;
  readonly crossings: Exchanges;
  /** Present if this command has not started the server. */
  readonly guard?: RedisGuard | undefined;
}

/**
 * Starts a proxy to a Redis server. Each command is an exchange, except those about the connection or the server, and
 * all commands on a connection that has subscribed.
 */
export function redisProxy({
  process,
  host,
  port,
  crossings,
  guard,
}: RedisProxyOptions): Promise<Listening> {
  const sockets = new Set<Socket>();
  const server = createServer((client) => {
    const upstream = connectUpstream(sockets, { port, host });
    const [commands, replies] = [splitter(), splitter()];
    let onReply: ((reply: Buffer | undefined) => void) | undefined;
    let isSubscribed = false;
    const observe = guard?.observer();
    const breakBoth = () => {
      client.destroy();
      upstream.destroy();
    };
    const replyTo = async (command: Buffer | string): Promise<Buffer | undefined> => {
      const reply = await new Promise<Buffer | undefined>((resolve) => {
        onReply = resolve;
        upstream.write(command);
      });
      onReply = undefined;
      return reply;
    };
    const open = async (): Promise<void> => {
      for (const words of guard?.opening ?? []) {
        const reply = await replyTo(commandOf(words));
        if (reply === undefined || reply[0] === 45) return breakBoth();
      }
      if (client.destroyed) upstream.destroy();
    };
    const exchange = async (command: Buffer): Promise<void> => {
      if (client.destroyed || upstream.destroyed) return;
      const words = wordsOf(command);
      const name = words[0]?.toUpperCase() ?? "";
      const refusal = guard?.refusalOf(words);
      if (refusal !== undefined) return void client.write(`-ERR ${refusal}\r\n`);
      if (/^(?:P|S)?(?:UN)?SUBSCRIBE$|^MONITOR$/.test(name)) isSubscribed = true;
      if (isSubscribed) return void upstream.write(command);
      const isCounted = !ofConnection.test(name);
      const passing = isCounted
        ? await crossings.arrive(process, factsOfCommand(words))
        : undefined;
      if (passing?.isSent === false) return breakBoth();
      const reply = await replyTo(command);
      observe?.(words, reply);
      if (reply === undefined) {
        passing?.broken();
        return breakBoth();
      }
      const error = reply[0] === 45 ? reply.toString("utf8", 1, reply.length - 2) : undefined;
      if (passing && !(await passing.executed({ error }))) return breakBoth();
      client.write(reply);
      if (client.destroyed) upstream.destroy();
    };
    let queue = open();
    client.on("data", (chunk: Buffer) => {
      for (const command of commands(chunk)) {
        queue = queue.then(() => exchange(command)).catch(breakBoth);
      }
    });
    upstream.on("data", (chunk: Buffer) => {
      for (const reply of replies(chunk)) {
        // Forwards a push (RESP 3), and any message that no command awaits, because they are not replies.
        if (reply[0] === 62 || !onReply) client.write(reply);
        else onReply(reply);
      }
    });
    upstream.once("close", () => {
      onReply?.(undefined);
      client.end();
    });
    client.once("close", () => {
      if (!onReply) upstream.destroy();
    });
  });
  return listening(server, sockets);
}
