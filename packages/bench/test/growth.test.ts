import { fork } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { call, claimBy } from "../../../test/support/receivers.js";
import { describeWithRedis } from "../../../test/support/redis-server.js";
import { redisClaims } from "../src/growth/redis-store.js";
import { keyOf, standingStores } from "../src/growth/standing-store.js";
import { judge, type Section } from "../src/race.js";
import { withRedis } from "../src/redis-server.js";

test.each<["memoryStore below capacity" | "memoryStore at capacity", boolean]>([
  ["memoryStore below capacity", false],
  ["memoryStore at capacity", true],
])("%s keeps its size", async (kind, evicts) => {
  const { store, deliver } = standingStores[kind](100);
  deliver(1_000);
  const status = async (delivery: number) =>
    (await store.claim(keyOf(delivery), claimBy("a"), call)).status;
  // 110 from the beginning, 1,000 now: the last 100 are there.
  for (const known of [1_011, 1_012, 1_050, 1_110]) expect(await status(known)).toBe("done");
  for (const gone of [1_010, 1_000, 1]) expect(await status(gone)).toBe("claimed");
  const newcomer = await store.claim(keyOf(1_111), claimBy("a"), call);
  expect(newcomer).toMatchObject({ evictedEarly: evicts });
});

test("a memory store at capacity keeps its size under receive(), too", async () => {
  const { store, deliver } = await standingStores["memoryStore at capacity, with receive()"](100);
  await deliver(99);
  expect(await store.claim(keyOf(110), claimBy("a"), call)).toEqual({ status: "done" });
  await deliver(1);
  expect(await store.claim(keyOf(110), claimBy("a"), call)).toMatchObject({ status: "claimed" });
});

/** As the bench runs it: workers need what was built. */
async function quickSection(env = process.env): Promise<Section> {
  const file = fileURLToPath(new URL("../dist/run-section.js", import.meta.url));
  const child = fork(file, ["growth", "quick"], { execArgv: ["--expose-gc"], env });
  const sent = once(child, "message").then(([section]) => section as Section);
  const ended = once(child, "exit").then(([code]) => {
    throw new Error(`it ended with ${code} before it had a result`);
  });
  return Promise.race([sent, ended]);
}

function expectComplete({ races }: Section): void {
  for (const race of races) {
    expect(race.lanes.map(({ name }) => name)).toContain(race.reference);
    for (const { values } of race.lanes) expect(Math.min(...values)).toBeGreaterThan(0);
    for (const bar of race.bars) expect(judge(race, bar).median).toBeGreaterThan(0);
  }
}

const withoutRedis = [
  "a Map alone at capacity",
  "memoryStore below capacity",
  "memoryStore at capacity",
  "memoryStore at capacity, with receive()",
  "memoryStore, heap of a done delivery",
  "receive(), handlers that wait",
  "receive(), 1 kB",
  "receive(), 10 kB",
  "receive(), 100 kB",
  "receive(), 1 MB",
];

test("without a redis-server the section has what needs none, and says loudly what is missing", async () => {
  const section = await quickSection({ PATH: "" });
  expect(section.races.map(({ title }) => title)).toEqual(withoutRedis);
  expect(section.about).toMatch(/LEFT OUT: .* redis-server is not installed/);
  expectComplete(section);
});

describeWithRedis("growth, quick", () => {
  test("has every race, and every lane that its bars are about", async () => {
    const section = await quickSection();
    expect(section.races.map(({ title }) => title)).toEqual([
      ...withoutRedis.slice(0, 5),
      "Redis, used_memory of a done delivery",
      "Redis, used_memory of a done delivery with lineage",
      "Redis, used_memory of a done delivery by hand",
      "redisStore, claim, complete and forget, 100 in flight",
      ...withoutRedis.slice(5),
    ]);
    expect(section.about).not.toContain("LEFT OUT");
    expectComplete(section);
  });

  test("Redis' databases keep their sizes, and are full of done deliveries", async () => {
    await withRedis(async (connect) => {
      await redisClaims(connect, [10, 1_000], { rounds: 1, turnMs: 1 });
      for (const [db, size] of [10, 1_000].entries()) {
        const redis = await connect(db);
        expect(await redis.dbsize()).toBe(size);
        const key = String(await redis.randomkey());
        expect(key).toMatch(/^svc-webhooks:\d{32}$/);
        expect(await redis.get(key)).toBe("d");
        expect(await redis.pttl(key)).toBeCloseTo(604_800_000, -4);
      }
    });
  });
});
