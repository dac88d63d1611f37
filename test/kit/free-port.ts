import { once } from "node:events";
import { createServer } from "node:net";

const first = 12_000;
const count = 10_000;

/** Rejects if the port of 127.0.0.1 is in use. */
export async function assertFree(port: number): Promise<void> {
  const server = createServer().listen(port, "127.0.0.1");
  await once(server, "listening");
  server.close();
  await once(server, "close");
}

/**
 * Returns an unused port of 127.0.0.1 from 12,000 to 21,999. The system assigns only higher ports to connections and
 * to servers that listen on port 0, so it does not assign this port before the caller listens on it.
 */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = first + Math.floor(Math.random() * count);
    try {
      await assertFree(port);
      return port;
    } catch {
      // The port is in use.
    }
  }
}
