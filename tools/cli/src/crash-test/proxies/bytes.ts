import { createServer, type Socket } from "node:net";
import type { Exchanges, Passing } from "../crossings.js";
import { connectUpstream, listening, type Listening } from "./listening.js";

/** The time after the client's last bytes at which an exchange ends if the server has sent nothing, in milliseconds. */
const silenceMs = 20;

export interface BytesProxyOptions {
  readonly process: string;
  /** The name of the variable with the service's URL. The names of exchanges contain it. */
  readonly name: string;
  readonly host: string;
  readonly port: number;
  readonly crossings: Exchanges;
}

/**
 * Starts a proxy for a protocol that this command cannot parse. A burst of bytes from the client, together with the
 * server's bytes that follow, counts as an exchange. This is only an approximation.
 */
export function bytesProxy(options: BytesProxyOptions): Promise<Listening> {
  const { process, name, host, port, crossings } = options;
  const sockets = new Set<Socket>();
  const server = createServer((client) => {
    const upstream = connectUpstream(sockets, { port, host });
    let current: Passing | undefined;
    let silence: NodeJS.Timeout | undefined;
    let queue = Promise.resolve();
    const breakBoth = () => {
      client.destroy();
      upstream.destroy();
    };
    /** Ends the current exchange. Resolves to whether its reply may be forwarded, and otherwise breaks the connection. */
    const finish = async (): Promise<boolean> => {
      const passing = current;
      current = undefined;
      const mayReply = passing === undefined || (await passing.executed({ note: "approximate" }));
      if (!mayReply) breakBoth();
      return mayReply;
    };
    const send = async (chunk: Buffer): Promise<void> => {
      clearTimeout(silence);
      current ??= await crossings.arrive(process, {
        name: `bytes to ${name} (approximate)`,
        kind: "call",
        effects: [],
        reads: [],
      });
      if (!current.isSent) return breakBoth();
      upstream.write(chunk);
      silence = setTimeout(() => void finish(), silenceMs);
    };
    const reply = async (chunk: Buffer): Promise<void> => {
      clearTimeout(silence);
      if (await finish()) client.write(chunk);
    };
    client.on("data", (chunk: Buffer) => {
      queue = queue.then(() => send(chunk)).catch(breakBoth);
    });
    upstream.on("data", (chunk: Buffer) => {
      queue = queue.then(() => reply(chunk)).catch(breakBoth);
    });
    upstream.once("close", () => {
      current?.broken();
      client.end();
    });
    client.once("close", () => {
      void finish();
      upstream.destroy();
    });
  });
  return listening(server, sockets);
}
