import { once } from "node:events";
import { connect, createServer, type Socket } from "node:net";
import { setImmediate } from "node:timers/promises";
import { freePort } from "./free-port.js";

/** A fault of the network between a client and its server. */
export type Fault =
  | "none"
  /** The port is closed: existing connections are reset, new ones refused. */
  | "refuse"
  /** All connections are reset, new ones as soon as they open. */
  | "reset"
  /** Bytes are accepted and dropped. A connection that lost bytes is reset when the fault ends. */
  | "black hole"
  /** Bytes in both directions arrive when the fault ends. */
  | "hold"
  /** The server's replies arrive when the fault ends. */
  | "hold replies"
  /** Bytes arrive one at a time, in both directions. */
  | "drip";

export interface TcpProxy {
  readonly port: number;
  /** Sets the fault for existing and new connections. */
  readonly set: (fault: Fault) => Promise<void>;
  /**
   * Silences all open connections except the `kept` oldest (default 0), like a host that dies or a firewall
   * that drops its state: bytes in both directions are lost, or only the replies, and neither side is closed.
   * New connections work. Returns the number of silenced connections.
   */
  readonly abandon: (options?: { loses?: "everything" | "replies"; kept?: number }) => number;
  /** Returns the number of silenced connections that clients have not closed. */
  readonly abandoned: () => number;
  /** Returns the number of directions of connections in which bytes are held. */
  readonly held: () => number;
  /** Returns the number of bytes that silenced connections have lost. */
  readonly lost: () => number;
  /**
   * Drops the next reply and resets all connections: the server has executed the command, but the
   * client gets no reply. Then sets the fault `next`. Resolves when that is done.
   */
  readonly loseReply: (next?: Fault) => Promise<void>;
  /** Connects new connections to another server, and resets existing ones. */
  readonly forwardTo: (port: number) => void;
  /** Connects new connections to another server, and keeps existing ones. */
  readonly divertTo: (port: number) => void;
  /** Returns the number of accepted connections. */
  readonly accepted: () => number;
  readonly close: () => Promise<void>;
}

interface Link {
  readonly reset: () => void;
  readonly abandon: (loses: "everything" | "replies") => void;
  hasLostBytes: boolean;
  /** Whether the connection is silent until it is closed. */
  isSilent: boolean;
  /** Whether the requests of a silent connection still arrive. */
  hears: boolean;
}

/** Starts a proxy on a free local port, without a fault. */
export async function tcpProxy(target: number): Promise<TcpProxy> {
  const links = new Set<Link>();
  const waiting = new Set<() => void>();
  let targetPort = target;
  let accepted = 0;
  let lost = 0;
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
      if (link.isSilent && (isReply || !link.hears)) {
        lost += chunk.length;
        continue;
      }
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
    // Writes to a closed side are lost, as on a real network.
    for (const socket of [client, server]) socket.on("error", () => {});
    const link: Link = {
      hasLostBytes: false,
      isSilent: false,
      hears: false,
      reset() {
        links.delete(link);
        client.resetAndDestroy();
        server.destroy();
      },
      abandon(loses) {
        link.isSilent = true;
        link.hears = loses === "replies";
        if (!link.hears) server.destroy();
      },
    };
    links.add(link);
    const requests = carry(client, server, link, false);
    const replies = carry(server, client, link, true);
    // When one side ends, the other side is closed too, except that the client of a silent connection
    // does not learn that the server is gone.
    const onServerEnd = () => {
      if (!link.isSilent) link.reset();
    };
    requests.then(link.reset, link.reset);
    return void replies.then(onServerEnd, onServerEnd);
  });

  // The proxy leaves its port while it refuses connections, and returns to it.
  const port = await freePort();
  const listen = async () => {
    listener.listen(port, "127.0.0.1");
    await once(listener, "listening");
  };

  const close = async () => {
    resetAll();
    if (!listener.listening) return;
    listener.close();
    await once(listener, "close");
  };

  await listen();

  const set: TcpProxy["set"] = async (next) => {
    fault = next;
    for (const resume of waiting) resume();
    waiting.clear();
    for (const link of links) if (link.hasLostBytes && next !== "black hole") link.reset();
    if (next === "refuse") return close();
    if (next === "reset") resetAll();
    if (!listener.listening) await listen();
  };

  return {
    port,
    set,
    abandon({ loses = "everything", kept = 0 } = {}) {
      const open = [...links].filter(({ isSilent }) => !isSilent).slice(kept);
      for (const link of open) link.abandon(loses);
      return open.length;
    },
    abandoned: () => [...links].filter(({ isSilent }) => isSilent).length,
    held: () => waiting.size,
    lost: () => lost,
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
