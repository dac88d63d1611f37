// What a delivery costs in Redis, measured on a redis-server of its own:
//   node packages/redis/scripts/bytes-per-record.mjs [deliveries, default 1,000,000]
import { spawn } from "node:child_process";
import { createHash, randomUUID } from "node:crypto";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { redisStore } from "@svc-webhooks/redis";
import { Redis } from "ioredis";

const deliveries = Number(process.argv[2] ?? 1_000_000);
const folder = mkdtempSync(join(tmpdir(), "bytes-per-record-"));
const socket = join(folder, "redis.sock");
const settings = ["--port", "0", "--unixsocket", socket, "--save", "", "--dir", folder];
const server = spawn("redis-server", settings, { stdio: ["ignore", "pipe", "inherit"] });
process.on("exit", () => {
  server.kill();
  rmSync(folder, { recursive: true });
});
process.on("SIGINT", () => process.exit(130));
for await (const line of createInterface(server.stdout)) if (/ready to accept/i.test(line)) break;
server.stdout.resume();

const redis = new Redis(socket, { enableAutoPipelining: true });
await once(redis, "ready");
const store = redisStore(redis);
const call = { signal: new AbortController().signal };
// As a receiver makes them: keys of 32 hex digits, a UUID for a token, a lineage of 32 hex digits.
const keyOf = (n) => createHash("sha256").update(String(n)).digest("hex").slice(0, 32);
const request = (lineage) => ({
  token: randomUUID(),
  leaseMs: 30_000,
  retainMs: 604_800_000,
  lineage,
});
const info = async (name) => Number((await redis.info()).match(RegExp(`^${name}:(.+)\r$`, "m"))[1]);

async function usage(states) {
  for (const [state, steps] of Object.entries(states)) {
    for (const lineage of [undefined, keyOf("lineage")]) {
      await redis.flushall();
      const claim = request(lineage);
      await store.claim(keyOf(0), claim, call);
      await steps(keyOf(0), claim);
      const bytes = await redis.memory("USAGE", `svc-webhooks:${keyOf(0)}`);
      console.log(`${state.padEnd(9)}${lineage ? "with lineage" : ""}`.padEnd(40), `${bytes} B`);
    }
  }
}

async function done(lineage) {
  await redis.flushall();
  const before = await info("used_memory");
  const one = async (n) => {
    const claim = request(lineage);
    await store.claim(keyOf(n), claim, call);
    await store.complete(keyOf(n), claim, call);
  };
  for (let n = 0; n < deliveries; n += 1_000) {
    const rest = Math.min(1_000, deliveries - n);
    await Promise.all(Array.from({ length: rest }, (_, index) => one(n + index)));
  }
  if ((await redis.dbsize()) !== deliveries) throw new Error("records are missing");
  const bytes = (await info("used_memory")) - before;
  const what = `${deliveries.toLocaleString("en")} done ${lineage ? "with lineage" : ""}`;
  console.log(what.padEnd(40), `${(bytes / deliveries).toFixed(1)} B each`);
}

console.log(`redis-server ${(await redis.info("server")).match(/redis_version:(.+)\r/)[1]}\n`);
console.log("MEMORY USAGE of one record");
await usage({
  running: () => {},
  done: (key, claim) => store.complete(key, claim, call),
  failed: (key, claim) => store.release(key, { ...claim, to: "failed" }, call),
  parked: (key, claim) => store.release(key, { ...claim, to: "parked" }, call),
});
console.log("\nused_memory, everything included");
await done();
await done(keyOf("lineage"));

process.exit();
