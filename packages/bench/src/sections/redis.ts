import { createReceiver, PermanentError, type ReceiverOptions } from "@svc-webhooks/core";
import { redisStore } from "@svc-webhooks/redis";
import type { Redis } from "ioredis";
import { redisReceiverByHand } from "../byhand/redis.js";
import { checkReceiver, type MakeReceiver, type Receive } from "../check-receiver.js";
import { copiesOf, type Delivered } from "../copies.js";
import { eventType, secret } from "../deliveries.js";
import { inFlight } from "../in-flight.js";
import { takeTurns, type Pace } from "../in-process.js";
import type { Lane, Race } from "../race.js";
import { infoOf, noRedis, withRedis } from "../redis-server.js";
import type { RunSection } from "../section.js";

const about =
  "receive() with a store on Redis: deliveries of 1 kB, each under an id of its own, over one " +
  "connection of ioredis to a server on this machine. By hand is SET NX, the handler, SET; it takes " +
  "its turns on the same connection.";

export const redis: RunSection = async ({ quick }) => {
  const pace = quick ? { rounds: 1, turnMs: 1 } : { rounds: 40, turnMs: 100 };
  const races = await withRedis(async (connect) => racesOver(await connect(), pace));
  return { title: "Redis", about: races ? about : noRedis, races: races ?? [] };
};

const byHand =
  (client: Redis): MakeReceiver =>
  (handle) => {
    const receive = redisReceiverByHand({ secret, on: { [eventType]: handle }, redis: client });
    return ({ headers, body }) => receive(headers, body);
  };

const ours =
  (client: Redis, options: Partial<ReceiverOptions> = {}): MakeReceiver =>
  (handle) => {
    const { receive } = createReceiver({
      name: "bench",
      secret,
      store: redisStore(client),
      on: { [eventType]: handle },
      onHandlerError: () => {},
      ...options,
    });
    return async (delivery) => (await receive({ method: "POST", ...delivery })).status;
  };

async function racesOver(client: Redis, pace: Pace): Promise<Race[]> {
  const contenders = { "by hand": byHand(client), "svc-webhooks": ours(client) };
  const receivers: Record<string, Receive> = {};
  for (const [name, make] of Object.entries(contenders)) {
    await checkReceiver(make);
    receivers[name] = mustAnswer200(make(() => {}));
  }
  const next = await copiesOf(1_024);
  const known = next();
  for (const receive of Object.values(receivers)) await receive(known);
  return [
    await roundTrips("a new delivery", 2, client, receivers, next),
    await roundTrips("a duplicate", 1, client, receivers, () => known),
    await memoryUsage(client, next),
    await throughput(1, client, receivers, next, pace),
    await throughput(20, client, receivers, next, pace),
    await throughput(100, client, receivers, next, pace),
  ];
}

/** What is answered otherwise was faster than the work. */
const mustAnswer200 =
  (receive: Receive): Receive =>
  async (delivery) => {
    const status = await receive(delivery);
    if (status !== 200) throw new Error(`a delivery was answered ${status}`);
    return status;
  };

/**
 * Counted by what the server has read: while there is one delivery at a time, each read is a request
 * that somebody waits for. Its count of commands includes those that scripts call.
 */
async function roundTrips(
  what: string,
  most: number,
  client: Redis,
  receivers: Readonly<Record<string, Receive>>,
  next: () => Delivered,
): Promise<Race> {
  const deliveries = 100;
  const lanes: Lane[] = [];
  for (const [name, receive] of Object.entries(receivers)) {
    const before = await infoOf(client, "total_reads_processed");
    for (let n = 0; n < deliveries; n++) await receive(next());
    // The second look has been read, too.
    const reads = (await infoOf(client, "total_reads_processed")) - before - 1;
    lanes.push({ name, values: [reads / deliveries] });
  }
  return {
    title: `Redis, round trips of ${what}`,
    unit: "round trips",
    better: "less",
    reference: "by hand",
    lanes,
    bars: [{ lane: "svc-webhooks", atMost: most, aim: most }],
  };
}

const fail = () => Promise.reject(new Error("as planned"));
const failForGood = () => Promise.reject(new PermanentError("as planned"));
const onParked = () => {};

/** What a record takes in each state, without its share of the server's tables. */
async function memoryUsage(client: Redis, next: () => Delivered): Promise<Race> {
  const bytes = async () => {
    const key = await client.randomkey();
    if (key === null) throw new Error("there is no record");
    return Number(await client.memory("USAGE", key));
  };
  const after = async (make: MakeReceiver, handle: () => void | Promise<void> = () => {}) => {
    await client.flushall("SYNC");
    await make(handle)(next());
    return bytes();
  };
  const during = async (make: MakeReceiver) => {
    let seen = NaN;
    await after(make, async () => {
      seen = await bytes();
    });
    return seen;
  };
  const dedupeBy = "body";
  const measured = {
    "by hand, done": await after(byHand(client)),
    done: await after(ours(client)),
    "done, with lineage": await after(ours(client, { dedupeBy })),
    parked: await after(ours(client, { onParked }), failForGood),
    "parked, with lineage": await after(ours(client, { onParked, dedupeBy }), failForGood),
    failed: await after(ours(client), fail),
    running: await during(ours(client)),
  };
  return {
    title: "Redis, MEMORY USAGE of a record",
    unit: "B",
    better: "less",
    reference: "by hand, done",
    lanes: Object.entries(measured).map(([name, value]) => ({ name, values: [value] })),
    bars: [{ lane: "done", atMost: 200, aim: 120 }],
  };
}

async function throughput(
  count: number,
  client: Redis,
  receivers: Readonly<Record<string, Receive>>,
  next: () => Delivered,
  pace: Pace,
): Promise<Race> {
  // Enough for what one call costs besides, and for the last ones, when there are no others beside them.
  const together = 1_000;
  await client.flushall("SYNC");
  const works = Object.entries(receivers).map(([name, receive]) => {
    const work = () => inFlight(count, together, () => receive(next()));
    return [name, work] as const;
  });
  const lanes = await takeTurns(Object.fromEntries(works), pace);
  return {
    title: `Redis, ${count} in flight`,
    unit: "deliveries/s",
    better: "more",
    reference: "by hand",
    lanes: lanes.map(({ name, values }) => ({
      name,
      values: values.map((us) => (together / us) * 1_000_000),
    })),
    bars: [{ lane: "svc-webhooks", against: "by hand", atLeast: 0.65, aim: 0.75 }],
  };
}
