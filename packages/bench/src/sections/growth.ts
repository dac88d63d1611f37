import { memoryClaims, memoryHeap } from "../growth/memory-store.js";
import { bodies, pending } from "../growth/receive.js";
import { redisClaims, redisMemory } from "../growth/redis-store.js";
import { noRedis, withRedis } from "../redis-server.js";
import type { RunSection } from "../section.js";

export const growth: RunSection = async ({ quick }) => {
  const pace = quick ? { rounds: 1, turnMs: 1 } : { rounds: 16, turnMs: 50 };
  // A turn among a million records has to hold several rounds of the garbage collector.
  const long = quick ? pace : { rounds: 12, turnMs: 100 };
  const sizes = quick ? [1e3, 1e4] : [1e3, 1e4, 1e5, 1e6];
  const kB = 1_024;

  const ofMemory = [
    await memoryClaims("a Map alone at capacity", sizes, long),
    await memoryClaims("memoryStore below capacity", sizes, long),
    await memoryClaims("memoryStore at capacity", sizes, long),
    await memoryClaims("memoryStore at capacity, with receive()", sizes, long),
    await memoryHeap(sizes, quick ? 10_000 : 50_000),
  ];
  const ofRedis = await withRedis(async (connect) => [
    // Beyond 2^20 records the server keeps old and doubled tables for a while: the worst case.
    ...(await redisMemory(await connect(), quick ? sizes : [...sizes, 1.1e6])),
    await redisClaims(connect, sizes, long),
  ]);
  const ofReceivers = [
    await pending([1, 10, 100, 1_000], pace),
    ...(await bodies({ "1 kB": kB, "10 kB": 10 * kB, "100 kB": 100 * kB, "1 MB": kB * kB }, pace)),
  ];

  const about =
    "What gets bigger, and what a delivery costs then. Stores keep their size while they are " +
    "measured, each memory store in a process of its own, and all sizes take their turns in each round. " +
    "Any table slows down as it outgrows the processor's caches: a Map alone shows by how much.";
  return {
    title: "Growth",
    about: ofRedis ? about : `${about} ${noRedis}`,
    races: [...ofMemory, ...(ofRedis ?? []), ...ofReceivers],
  };
};
