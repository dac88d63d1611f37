import { fork } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { expect, onTestFinished, test } from "vitest";
import { describeWithPostgres } from "@svc-webhooks/kit/postgres-server";
import { describeWithRedis } from "@svc-webhooks/kit/redis-server";
import { measured, type Section } from "../src/race.js";
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

/** Returns the values of all lanes and the figures of all bars. */
const figuresOf = ({ races }: Section): number[] =>
  races.flatMap((race) => [
    ...race.lanes.flatMap(({ name, values }) => [
      ...values,
      measured(race, name, race.reference).median,
    ]),
    ...race.bars.map(({ lane, against }) => measured(race, lane, against).median),
  ]);

const withServers = new Set(["redis", "postgres", "inbox"]);

test.each(sectionIds.filter((id) => !withServers.has(id)))(
  "a quick run of %s has values of each lane, and figures of each bar",
  async (id) => {
    expect(Math.min(...figuresOf(await quick(id)))).toBeGreaterThan(0);
  },
);

describeWithRedis("a quick run on Redis", () => {
  describeWithPostgres("and on PostgreSQL", () => {
    test("has values of each lane of inboxes, and figures of each bar", async () => {
      expect(Math.min(...figuresOf(await quick("inbox")))).toBeGreaterThan(0);
    });
  });

  test("is complete, and its round trips and bytes are exact", async () => {
    const section = await quick("redis");
    expect(Math.min(...figuresOf(section))).toBeGreaterThan(0);
    const values = section.races.slice(0, 3).map(({ lanes }) => lanes.map((lane) => lane.values));
    expect(JSON.stringify(values)).toBe("[[[2],[2]],[[2],[1]],[[120],[120]]]");
  });
});

describeWithPostgres("a quick run on PostgreSQL", () => {
  test("has values of each lane, and figures of each bar", async () => {
    expect(Math.min(...figuresOf(await quick("postgres")))).toBeGreaterThan(0);
  });
});
