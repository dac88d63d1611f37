import { once } from "node:events";
import { createServer } from "node:net";

/** Returns an unused port of 127.0.0.1. Rejects if `wanted` is in use. */
export async function freePort(wanted = 0): Promise<number> {
  const server = createServer().listen(wanted, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  server.close();
  await once(server, "close");
  return typeof address === "object" && address ? address.port : 0;
}
