import { Server, Socket } from "node:net";

type Listening = (() => void) | undefined;

// `listen` is declared as a property, because replacing a method is a lint error.
const servers = Server.prototype as {
  listen: (this: Server, port: number, host: string, listening: Listening) => Server;
};
const { listen } = servers;

const connections = new Set<Socket>();
const sockets = Socket.prototype as { connect: (this: Socket, ...args: unknown[]) => Socket };
const { connect } = sockets;
sockets.connect = function connectAndRemember(this: Socket, ...args: unknown[]): Socket {
  connections.add(this);
  return connect.apply(this, args);
};

/**
 * Listens on a free port without keeping the process alive, because a block with a server would never exit. The
 * connections of its stores, which are open by then, do not keep it alive either.
 */
servers.listen = function listenOnFreePort(this: Server, ...args: unknown[]): Server {
  const listening = args.find((arg) => typeof arg === "function") as Listening;
  for (const socket of connections) if (socket.readyState === "open") socket.unref();
  return listen.call(this, 0, "127.0.0.1", listening).unref();
};
