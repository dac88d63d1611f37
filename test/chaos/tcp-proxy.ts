import { once } from "node:events";
import { connect, createServer, type AddressInfo, type Socket } from "node:net";
import { setImmediate } from "node:timers/promises";

/** What is wrong with the network between a client and its server. */
export type Fault =
  | "none"
  /** Nobody listens: connections are reset, new ones refused. */
  | "refuse"
  /** Somebody listens who resets what connects. */
  | "reset"
  /** Bytes are taken and lost; a connection that has lost some is reset when the fault ends. */
  | "black hole"
  /** Bytes of both directions are late: they arrive when the fault ends. */
  | "hold"
  /** What the server answers is late: it arrives when the fault ends. */
  | "hold replies"
  /** One byte at a time, in both directions. */
  | "drip";

export interface TcpProxy {
  readonly port: number;
  /** From now on, for all connections. */
  readonly set: (fault: Fault) => Promise<void>;
  /**
   * The next reply is not forwarded: the server has executed what was asked, and the client, whose
   * connections are reset, does not know. Then `next` is the fault. Resolves when it has happened.
   */
  readonly loseReply: (next?: Fault) => Promise<void>;
  /** New connections go to another server; those that exist are reset. */
  readonly forwardTo: (port: number) => void;
  /** New connections go to another server; those that exist stay where they are. */
  readonly divertTo: (port: number) => void;
  /** How many connections there have been. */
  readonly accepted: () => number;
  readonly close: () => Promise<void>;
}

interface Link {
  readonly reset: () => void;
  hasLostBytes: boolean;
}

/** A proxy on a free port of this machine, whose faults are switched while it runs. */
export async function tcpProxy(target: number): Promise<TcpProxy> {
  const links = new Set<Link>();
  const waiting = new Set<() => void>();
  let targetPort = target;
  let accepted = 0;
  let fault: Fault = "none";
  let loss: { readonly next: Fault; readonly happened: () => void } | undefined;

  const resetAll = () => {
    for (const link of links) link.reset();
  };

  const isHeld = (isReply: boolean) => fault === "hold" || (isReply && fault === "hold replies");

  const change = () => new Promise<void>((resolve) => waiting.add(resolve));

  async function carry(from: Socket, to: Socket, link: Link, isReply: boolean): Promise<void> {
    for await (const chunk of from as AsyncIterable<Buffer>) {
      if (isReply && loss) {
        const { next, happened } = loss;
        loss = undefined;
        resetAll();
        await set(next);
        return happened();
      }
      while (isHeld(isReply)) await change();
      if (fault === "black hole") {
        link.hasLostBytes = true;
        continue;
      }
      if (fault !== "drip") {
        to.write(chunk);
        continue;
      }
      for (const byte of chunk) {
        to.write(Buffer.of(byte));
        await setImmediate();
      }
    }
  }

  const listener = createServer({ noDelay: true }, (client) => {
    if (fault === "reset") return void client.resetAndDestroy();
    accepted += 1;
    const server = connect({ port: targetPort, host: "127.0.0.1", noDelay: true });
    // What is written to a side that is gone is lost, as on a wire.
    for (const socket of [client, server]) socket.on("error", () => {});
    const link: Link = {
      hasLostBytes: false,
      reset() {
        links.delete(link);
        client.resetAndDestroy();
        server.destroy();
      },
    };
    links.add(link);
    const requests = carry(client, server, link, false);
    const replies = carry(server, client, link, true);
    // However one side ends, the other one learns of it.
    return void Promise.race([requests, replies]).then(link.reset, link.reset);
  });

  const listen = async (port = 0) => {
    listener.listen(port, "127.0.0.1");
    await once(listener, "listening");
    return (listener.address() as AddressInfo).port;
  };

  const close = async () => {
    resetAll();
    if (!listener.listening) return;
    listener.close();
    await once(listener, "close");
  };

  const port = await listen();

  const set: TcpProxy["set"] = async (next) => {
    fault = next;
    for (const resume of waiting) resume();
    waiting.clear();
    for (const link of links) if (link.hasLostBytes && next !== "black hole") link.reset();
    if (next === "refuse") return close();
    if (next === "reset") resetAll();
    if (!listener.listening) await listen(port);
  };

  return {
    port,
    set,
    loseReply: (next = "none") =>
      new Promise((happened) => {
        loss = { next, happened };
      }),
    forwardTo(nextPort) {
      targetPort = nextPort;
      resetAll();
    },
    divertTo(nextPort) {
      targetPort = nextPort;
    },
    accepted: () => accepted,
    close,
  };
}
