import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { getRequestListener } from "@hono/node-server";
import { RESPONSE_ALREADY_SENT } from "@hono/node-server/utils/response";
import { assertValid } from "@svc-webhooks/core/adapter";
import { ApiError } from "../errors.js";
import type { Reply } from "./api.js";
import { assertHost } from "./guard.js";

export interface Listening {
  readonly port: number;
  /** The base URL, such as `http://127.0.0.1:4010`. */
  readonly url: string;
  readonly close: () => Promise<void>;
}

interface ServerContext {
  readonly handle: (request: Request) => Promise<Reply>;
  readonly allowHosts: readonly string[];
  readonly refuse: (error: ApiError) => Response;
}

/**
 * Returns all hosts that a request names: those of its `Host` headers, and that of an absolute URL in its request line,
 * which becomes `request.url`. If that URL has the same host as the only `Host` header, returns the host once.
 */
function hostsOf({ url = "", headersDistinct }: IncomingMessage): readonly string[] {
  const hosts = headersDistinct["host"] ?? [];
  const [, target] = /^[a-z]+:\/\/([^/?#]*)/i.exec(url) ?? [];
  return target === undefined || (hosts.length === 1 && hosts[0] === target)
    ? hosts
    : [...hosts, target];
}

/** The address on which a server listens: loopback, or all IPv4 addresses of the machine or container. */
export type BindAddress = "127.0.0.1" | "0.0.0.0";

/** Starts a server. Rejects with Error if it cannot listen, for example because the port is in use. */
async function listen(
  { handle, allowHosts, refuse }: ServerContext,
  port: number,
  address: BindAddress,
): Promise<Listening> {
  let bound = port;
  const respond = getRequestListener(
    async (request, env) => {
      const { incoming, outgoing } = env as {
        readonly incoming: IncomingMessage;
        readonly outgoing: ServerResponse;
      };
      try {
        assertHost(hostsOf(incoming), bound, allowHosts);
      } catch (error) {
        if (error instanceof ApiError) return refuse(error);
        throw error;
      }
      const reply = await handle(request);
      if ("response" in reply) return reply.response;
      // A fault closes the connection, or withholds the response until the client disconnects.
      if (reply.lost === "closed") outgoing.destroy();
      else await new Promise((resolve) => outgoing.once("close", resolve));
      return RESPONSE_ALREADY_SENT;
    },
    // Without `hostname`, a request that lacks a Host header would not reach `assertHost`, which rejects it.
    { overrideGlobalObjects: false, hostname: "none" },
  );
  const server = createServer(
    { requireHostHeader: false },
    (request, response) => void respond(request, response),
  );
  await new Promise<void>((resolve, reject) => {
    server.once("error", (error: NodeJS.ErrnoException) =>
      reject(
        error.code === "EADDRINUSE"
          ? new Error(
              `Port ${port} is in use. Choose another port, or use 0 to select a free one.`,
              {
                cause: error,
              },
            )
          : error,
      ),
    );
    server.listen(port, address, resolve);
  });
  bound = (server.address() as AddressInfo).port;
  return {
    port: bound,
    url: `http://127.0.0.1:${bound}`,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

/** Manages the running servers. @param ports their ports: `listen` adds one, and closing a server removes its port */
export function createServers(context: ServerContext, ports: Set<number>) {
  const servers = new Set<Listening>();
  return {
    async listen(port: number, address: BindAddress): Promise<Listening> {
      assertValid(
        address === "127.0.0.1" || address === "0.0.0.0",
        "address",
        'The address of `listen` must be "127.0.0.1" or "0.0.0.0".',
      );
      const server = await listen(context, port, address);
      ports.add(server.port);
      const served = {
        ...server,
        async close() {
          await server.close();
          servers.delete(served);
          ports.delete(server.port);
        },
      };
      servers.add(served);
      return served;
    },
    async close(): Promise<void> {
      await Promise.all(Array.from(servers, (server) => server.close()));
    },
  };
}
