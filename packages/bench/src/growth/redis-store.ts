import type { DeliveryStore } from "@svc-webhooks/core";
import { redisStore } from "@svc-webhooks/redis";
import type { Redis } from "ioredis";
import { inFlight } from "../in-flight.js";
import { takeTurns, type Pace } from "../in-process.js";
import type { Lane, Race } from "../race.js";
import { infoOf, type Connect } from "../redis-server.js";
import { records } from "./records.js";

const week = 7 * 24 * 60 * 60_000;
const call = { signal: new AbortController().signal };
const request = { token: "", leaseMs: 30_000, retainMs: week };
const firstKey = "0".repeat(32);
const together = 1_000;

/** What a delivery costs in databases of these sizes, each over a connection of its own. */
export async function redisClaims(
  connect: Connect,
  sizes: readonly number[],
  pace: Pace,
): Promise<Race> {
  await (await connect()).flushall("SYNC");
  const contenders: Record<string, () => Promise<void>> = {};
  for (const [db, size] of sizes.entries()) {
    const redis = await connect(db);
    const store = redisStore(redis);
    await put(store, firstKey);
    const growTo = await growing(redis);
    await growTo(size);
    let n = 0;
    const comeAndGo = async () => {
      const key = `1${String(n++).padStart(31, "0")}`;
      await put(store, key);
      // So that the size remains.
      await store.forget(key, call);
    };
    contenders[records(size)] = () => inFlight(100, together, comeAndGo);
  }
  const lanes = await takeTurns(contenders, pace);
  return {
    title: "redisStore, claim, complete and forget, 100 in flight",
    unit: "µs",
    better: "less",
    reference: records(sizes[0] ?? NaN),
    lanes: lanes.map(({ name, values }) => ({ name, values: values.map((us) => us / together) })),
    bars: [],
  };
}

/** What each of many done deliveries takes of `used_memory`, with its share of the server's tables. */
export async function redisMemory(redis: Redis, sizes: readonly number[]): Promise<Race[]> {
  const store = redisStore(redis);
  const kinds: Record<string, () => Promise<unknown>> = {
    "a done delivery": () => put(store, firstKey),
    "a done delivery with lineage": () => put(store, firstKey, firstKey),
    "a done delivery by hand": () => redis.set(`webhook:dlv_${"0".repeat(36)}`, "done", "PX", week),
  };
  const races: Race[] = [];
  for (const [what, write] of Object.entries(kinds)) {
    // The first look and the first script take memory that belongs to no record.
    await bytesEach(redis, [1_000], write);
    races.push({
      title: `Redis, used_memory of ${what}`,
      unit: "B",
      better: "less",
      reference: records(sizes[0] ?? NaN),
      lanes: await bytesEach(redis, sizes, write),
      bars: [],
    });
  }
  return races;
}

async function bytesEach(
  redis: Redis,
  sizes: readonly number[],
  write: () => Promise<unknown>,
): Promise<Lane[]> {
  await redis.flushall("SYNC");
  const before = await infoOf(redis, "used_memory");
  await write();
  const growTo = await growing(redis);
  const lanes: Lane[] = [];
  for (const size of sizes) {
    await growTo(size);
    const bytes = (await infoOf(redis, "used_memory")) - before;
    lanes.push({ name: records(size), values: [bytes / size] });
  }
  return lanes;
}

/** A delivery that comes and is done at once. */
async function put(store: DeliveryStore, key: string, lineage?: string): Promise<void> {
  await store.claim(key, { ...request, lineage }, call);
  await store.complete(key, { ...request, lineage }, call);
}

const copy = `
for n = tonumber(ARGV[1]), tonumber(ARGV[2]) do
  redis.call('COPY', KEYS[1], KEYS[1]:sub(1, -11) .. string.format('%010d', n))
end`;

/**
 * Lets a database grow that has one record, whose key ends with ten zeros or more. The server copies
 * it under other keys of that length: a million would take us half a minute to write one by one.
 */
async function growing(redis: Redis): Promise<(size: number) => Promise<void>> {
  const first = await redis.randomkey();
  if (first === null) throw new Error("there is no record to copy");
  let size = 1;
  return async (wanted) => {
    while (size < wanted) {
      // While a script runs, the server does nothing else.
      const end = Math.min(size + 100_000, wanted);
      await redis.eval(copy, 1, first, size, end - 1);
      size = end;
    }
  };
}
