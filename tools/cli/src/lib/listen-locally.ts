import { once } from "node:events";
import type { Server } from "node:http";
import type { AddressInfo } from "node:net";
import { Failure, messageOf } from "../errors.js";

/**
 * Makes a server listen on 127.0.0.1, and resolves to its port.
 *
 * @param port the port to use, or 0 to choose a free port
 * @param fix the hint of the error: the sentence that names the option for the port
 * @throws Failure (as a rejection) `port_unavailable` if the server cannot use the port
 */
export async function listenLocally(server: Server, port: number, fix: string): Promise<number> {
  server.listen(port, "127.0.0.1");
  try {
    await once(server, "listening");
  } catch (error) {
    throw new Failure(
      "port_unavailable",
      `Port ${port} cannot be used: ${messageOf(error)}.`,
      fix,
      { cause: error },
    );
  }
  return (server.address() as AddressInfo).port;
}
