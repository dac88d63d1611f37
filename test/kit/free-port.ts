import { once } from "node:events";
import { createServer } from "node:net";
import { join } from "node:path";
import { createFile } from "./create-file.js";

const first = 12_000;
const count = 10_000;

/** Rejects if the port of 127.0.0.1 is in use. */
export async function assertFree(port: number): Promise<void> {
  const server = createServer().listen(port, "127.0.0.1");
  await once(server, "listening");
  server.close();
  await once(server, "close");
}

/** The ports that this process has reserved outside of a test run. */
const own = new Set<number>();

/** Returns whether the port is now reserved for the caller: no other process of the test run has reserved it. */
function reserve(port: number): boolean {
  // `run-folder.ts` sets this variable.
  const folder = process.env["SVC_WEBHOOKS_PORTS_FOLDER"];
  if (folder === undefined) return !own.has(port) && Boolean(own.add(port));
  return createFile(join(folder, String(port)));
}

/**
 * Returns an unused port of 127.0.0.1 from 12,000 to 21,999, which no other caller of the test run receives: it stays
 * reserved after a server has left it, so that the server can return to it. The system assigns only higher ports to
 * connections and to servers that listen on port 0, so it does not assign this port before the caller listens on it.
 */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = first + Math.floor(Math.random() * count);
    if (!reserve(port)) continue;
    try {
      await assertFree(port);
      return port;
    } catch {
      // A program outside of the test run uses the port.
    }
  }
}
