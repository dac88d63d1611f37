// Starts the Redis of the demo; in production, it is your own.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";

/** Starts a Redis that loses nothing it has acknowledged. Resolves to its URL. It ends with this process. */
export async function startRedis() {
  const folder = mkdtempSync(join(tmpdir(), "inbox-redis-"));
  // Unlike a port, a socket in a new folder is always free and private.
  const socket = join(folder, "redis.sock");
  const address = ["--port", "0", "--unixsocket", socket, "--dir", folder];
  const settings = ["--save", "", "--appendonly", "yes", "--appendfsync", "always"];
  const child = spawn("redis-server", [...address, ...settings], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  process.once("exit", () => {
    child.kill("SIGKILL");
    rmSync(folder, { recursive: true, force: true });
  });
  await once(child, "spawn").catch(() => {
    console.error("This demo needs redis-server 6.2 or newer: install it with apt or brew.");
    process.exit(1);
  });
  for await (const line of createInterface(child.stdout)) {
    if (/ready to accept/i.test(line)) break;
  }
  child.stdout.resume();
  return socket;
}
