import { spawn, spawnSync } from "node:child_process";
import { tmpdir } from "node:os";
import { Redis } from "ioredis";
import { freePort } from "./free-port.js";

/** Runs `use` with a connection to a `redis-server` of its own, without persistence. */
export async function withRedis<T>(use: (client: Redis) => Promise<T>): Promise<T> {
  if (spawnSync("redis-server", ["--version"]).error) {
    throw new Error("Install redis-server, or name the sections that do without it.");
  }
  const port = await freePort();
  const options = ["--bind", "127.0.0.1", "--port", String(port), "--dir", tmpdir(), "--save", ""];
  const server = spawn("redis-server", options, { stdio: ["ignore", "ignore", "inherit"] });
  const kill = () => void server.kill("SIGKILL");
  // An uncaught error must not leave it running either.
  process.once("exit", kill);
  const client = new Redis(port, "127.0.0.1");
  // It reconnects until the server is ready.
  client.on("error", () => {});
  try {
    await client.ping();
    return await use(client);
  } finally {
    client.disconnect();
    kill();
    process.off("exit", kill);
  }
}

/** A number that `INFO` reports. */
export const infoOf = async (client: Redis, name: string): Promise<number> =>
  Number(new RegExp(`^${name}:(\\d+)`, "m").exec(await client.info())?.[1]);
