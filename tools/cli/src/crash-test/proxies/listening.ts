import { once } from "node:events";
import { connect, type AddressInfo, type Server, type Socket } from "node:net";

/** A server on 127.0.0.1 for one process under test. */
export interface Listening {
  readonly port: number;
  /** Ends the server and its connections. */
  readonly close: () => Promise<void>;
}

/** Connects to the service behind a proxy. The connection is destroyed when its proxy is closed. */
export function connectUpstream(
  sockets: Set<Socket>,
  { port, host }: { readonly port: number; readonly host: string },
): Socket {
  const upstream = connect(port, host);
  follow(sockets, upstream);
  return upstream;
}

/**
 * Adds a socket to those that `Listening.close` destroys. Ignores its errors, because the event `close` follows each
 * error.
 */
function follow(sockets: Set<Socket>, socket: Socket): void {
  sockets.add(socket);
  socket.on("error", () => {});
  socket.once("close", () => sockets.delete(socket));
}

/** Makes a server listen on a free port of 127.0.0.1. The `close` of the result also destroys `sockets`. */
export async function listening(server: Server, sockets: Set<Socket>): Promise<Listening> {
  server.on("connection", (socket: Socket) => follow(sockets, socket));
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  return {
    port,
    async close() {
      const closed = once(server, "close");
      server.close();
      for (const socket of sockets) socket.destroy();
      await closed;
    },
  };
}
