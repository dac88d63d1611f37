import { redisServer, redisVersion } from "@svc-webhooks/kit/redis-server";
import { redisStore } from "@svc-webhooks/redis";
import { Redis } from "ioredis";
import { deliveriesOf } from "../deliveries.js";
import { redisClaims } from "../hand-written.js";
import type { Bar, Race } from "../race.js";
import { handWritten, ours, type Receive } from "../receivers.js";
import type { RunSection } from "../sections.js";
import { nameOf } from "../store-calls.js";
import { ratePerSecond, takeTurns } from "../turns.js";

export const run: RunSection = async (quick) => {
  if (!redisVersion()) {
    throw new Error("Install redis-server, or name the sections that do not need it.");
  }
  const server = await redisServer();
  // Stops the server even after an uncaught error.
  process.once("exit", () => void server.kill());
  const client = new Redis(server.port, "127.0.0.1");
  try {
    return { title: "Redis", races: await racesOver(client, quick) };
  } finally {
    client.disconnect();
    await server.close();
  }
};

async function racesOver(client: Redis, quick: boolean): Promise<Race[]> {
  const contenders = {
    "hand-written": handWritten(() => {}, redisClaims(client)),
    "svc-webhooks": ours(() => {}, { name: "bench", store: redisStore(client) }),
  };
  async function race(
    title: string,
    unit: string,
    bar: Omit<Bar, "lane">,
    rounds: number,
    measure: (receive: Receive) => Promise<number>,
  ): Promise<Race> {
    await client.flushall("SYNC");
    const turns = Object.entries(contenders).map(
      ([name, receive]) => [name, () => measure(receive)] as const,
    );
    const lanes = await takeTurns(Object.fromEntries(turns), rounds);
    const bars = [{ lane: "svc-webhooks", ...bar }];
    return { title, unit, reference: "hand-written", lanes, bars };
  }

  const next = deliveriesOf(1_024);
  // From the second turn on, this delivery is a duplicate. The first turn is not recorded.
  const known = next();
  const limit = "Claims and completions are Lua scripts that check the owner and count runs.";
  const speed = { against: "hand-written", atLeast: 0.65, aim: 0.75, limit };
  const throughput = (inFlight: number) =>
    race(
      `Redis, ${inFlight === 1 ? "one delivery" : `${inFlight} deliveries`} at a time`,
      "/s",
      speed,
      quick ? 1 : 40,
      (receive) => ratePerSecond(inFlight, quick ? 10 : 100, () => receive(next())),
    );
  return [
    await race("Redis, round trips per new delivery", "", { atMost: 2, aim: 2 }, 1, (receive) =>
      roundTripsPer(client, () => receive(next())),
    ),
    await race("Redis, round trips per duplicate", "", { atMost: 1, aim: 1 }, 1, (receive) =>
      roundTripsPer(client, () => receive(known)),
    ),
    await race(
      "Redis, bytes per done record (`MEMORY USAGE`)",
      "B",
      { atMost: 200, aim: 120 },
      1,
      (receive) => bytesAfter(client, () => receive(next())),
    ),
    await throughput(1),
    await throughput(20),
    await throughput(100),
    await usedMemory(client, quick ? [1e3] : [1e6, 1.1e6]),
  ];
}

/** Resolves to a number that `INFO` reports. */
const infoOf = async (client: Redis, name: string): Promise<number> =>
  Number(new RegExp(`^${name}:(\\d+)`, "m").exec(await client.info())?.[1]);

/** Measures the memory per record of a done delivery, including its share of the server's tables. */
async function usedMemory(client: Redis, sizes: readonly number[]): Promise<Race> {
  const lanes = [];
  for (const size of sizes) {
    const name = nameOf(size);
    lanes.push({ name, values: [await usedMemoryPerRecord(client, size)] });
    const values = [await usedMemoryPerRecord(client, size, zeros)];
    lanes.push({ name: `${name} with lineage`, values });
  }
  return { title: "Redis, bytes per done record (`used_memory`)", unit: "B", lanes, bars: [] };
}

const zeros = "0".repeat(32);

const copies = `
for n = tonumber(ARGV[1]), tonumber(ARGV[2]) do
  redis.call('COPY', KEYS[1], KEYS[1]:sub(1, -11) .. string.format('%010d', n))
end`;

async function usedMemoryPerRecord(client: Redis, size: number, lineage?: string): Promise<number> {
  const store = redisStore(client);
  const call = { signal: new AbortController().signal };
  const request = { token: "", leaseMs: 30_000, retainMs: 7 * 24 * 60 * 60_000, lineage };
  await client.flushall("SYNC");
  const before = await infoOf(client, "used_memory");
  await store.claim(zeros, request, call);
  await store.complete(zeros, request, call);
  const record = await client.randomkey();
  // A million writes would take half a minute, so the server copies the record under keys of the same length. A running
  // script blocks the server, so each script makes only some of the copies.
  for (let first = 1; first < size; first += 100_000) {
    await client.eval(copies, 1, record ?? "", first, Math.min(first + 100_000, size) - 1);
  }
  return ((await infoOf(client, "used_memory")) - before) / size;
}

/**
 * Measures the round trips per call by counting the server's reads. Calls run one at a time, so each read is a request
 * that the caller waits for. The server's command count would include the commands that scripts call.
 */
async function roundTripsPer(client: Redis, call: () => Promise<void>): Promise<number> {
  const calls = 100;
  const before = await infoOf(client, "total_reads_processed");
  for (let n = 0; n < calls; n++) await call();
  // Subtracts 1, because the second INFO counts as a read too.
  return ((await infoOf(client, "total_reads_processed")) - before - 1) / calls;
}

/** Measures the size in bytes of the record that a call leaves, without its share of the server's tables. */
async function bytesAfter(client: Redis, call: () => Promise<void>): Promise<number> {
  await client.flushall("SYNC");
  await call();
  const key = await client.randomkey();
  return Number(await client.memory("USAGE", key ?? ""));
}
