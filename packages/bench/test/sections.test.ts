import { fork } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { expect, onTestFinished, test } from "vitest";
import { call, claimBy } from "@svc-webhooks/kit/receivers";
import { describeWithPostgres } from "@svc-webhooks/kit/postgres-server";
import { describeWithRedis } from "@svc-webhooks/kit/redis-server";
import { gzippedBytes } from "../src/bundle.js";
import { startChild } from "../src/child.js";
import { atCapacity, belowCapacity, keyOf } from "../src/growth/memory-stores.js";
import { judge, measured, type Section } from "../src/race.js";
import { sectionIds } from "../src/sections.js";

// Processes run the built files.
const built = (file: string) => fileURLToPath(new URL(`../dist/${file}`, import.meta.url));

async function quick(id: string): Promise<Section> {
  const child = fork(built("run-section.js"), [id, "quick"], { execArgv: ["--expose-gc"] });
  onTestFinished(() => void child.kill());
  const ended = once(child, "exit").then(([code]) => `${id} ended with ${code}`);
  const result = await Promise.race([once(child, "message"), ended]);
  if (typeof result === "string") throw new Error(result);
  return (result as [Section])[0];
}

/** The values of all lanes and the figures of all bars. */
const figuresOf = ({ races }: Section): number[] =>
  races.flatMap((race) => [
    ...race.lanes.flatMap(({ name, values }) => [
      ...values,
      measured(race, name, race.reference).median,
    ]),
    ...race.bars.map((bar) => judge(race, bar).median),
  ]);

test.each(sectionIds.filter((id) => id !== "redis" && id !== "postgres"))(
  "a quick run of %s has values of each lane, and figures of each bar",
  { timeout: 120_000 },
  async (id) => {
    expect(Math.min(...figuresOf(await quick(id)))).toBeGreaterThan(0);
  },
);

describeWithRedis("a quick run on Redis", () => {
  test("is complete, and its round trips and bytes are exact", { timeout: 120_000 }, async () => {
    const section = await quick("redis");
    expect(Math.min(...figuresOf(section))).toBeGreaterThan(0);
    const values = section.races.slice(0, 3).map(({ lanes }) => lanes.map((lane) => lane.values));
    expect(JSON.stringify(values)).toBe("[[[2],[2]],[[2],[1]],[[120],[120]]]");
  });
});

describeWithPostgres("a quick run on PostgreSQL", () => {
  test("has values of each lane, and figures of each bar", { timeout: 120_000 }, async () => {
    expect(Math.min(...figuresOf(await quick("postgres")))).toBeGreaterThan(0);
  });
});

test("a contender's server ends with its parent", async () => {
  const child = fork(built("http/server.js"), ["node:http", "hand-written"]);
  onTestFinished(() => void child.kill());
  const [port] = await once(child, "message");
  expect((await fetch(`http://127.0.0.1:${port}/webhooks`)).status).toBe(405);
  const exit = once(child, "exit");
  child.disconnect();
  expect(await exit).toEqual([0, null]);
});

test("a process that ends rejects the reply, by its name", async () => {
  // There is no JavaScript next to the source.
  const child = startChild("http/server.js", ["a", "b"], { stdio: "ignore" });
  await expect(child.reply()).rejects.toThrow("http/server.js a b ended with 1.");
});

test.each([
  ["below its capacity", belowCapacity, false],
  ["at its capacity", atCapacity, true],
])("a memory store %s keeps its size", async (_title, make, evictedEarly) => {
  const { store, deliver } = make(100);
  deliver(1_000);
  const claim = (delivery: number) => store.claim(keyOf(delivery), claimBy("a"), call);
  // 110 at the start and 1,000 now: the last 100 are there.
  expect(await claim(1_011)).toMatchObject({ status: "done" });
  expect(await claim(1_010)).toMatchObject({ status: "claimed", evictedEarly });
});

test("a bundle has what it imports, and modules of Node only on Node", async () => {
  const crypto = `export * from "node:crypto"`;
  const missing = `export * from "no-such-package"`;
  expect(await gzippedBytes(crypto, "node")).toBeGreaterThan(0);
  await expect(gzippedBytes(crypto, "worker")).rejects.toThrow("node:crypto");
  await expect(gzippedBytes(missing, "node")).rejects.toThrow("no-such-package");
});
