import { beforeAll, expect, test } from "vitest";
import { judge, type Section } from "../src/race.js";
import { size } from "../src/sections/size.js";
import { gzippedBytes } from "../src/size/bundle.js";

let section: Section;

beforeAll(async () => {
  section = await size({ quick: true });
}, 60_000);

test("every race is against one of its lanes, and every promise can be judged", () => {
  for (const race of section.races) {
    expect(race.lanes.map(({ name }) => name)).toContain(race.reference);
    for (const bar of race.bars) expect(judge(race, bar).median).toBeGreaterThan(0);
  }
});

const lanesIn = (unit: string) =>
  section.races.filter((race) => race.unit === unit).flatMap(({ lanes }) => lanes);

test("something is in every bundle: what nothing uses would be dropped as a whole", () => {
  const bundles = lanesIn("B");
  expect(bundles.length).toBeGreaterThan(0);
  expect(bundles.filter(({ values: [bytes = 0] }) => bytes < 400)).toEqual([]);
});

test("every import takes its time", () => {
  const imports = lanesIn("ms");
  expect(imports.length).toBeGreaterThan(0);
  expect(imports.filter(({ values: [ms = 0] }) => ms <= 0)).toEqual([]);
});

test("what is not found is no smaller bundle but an error", async () => {
  const code = `export * from "no-such-package";`;
  await expect(gzippedBytes({ code })).rejects.toThrow("no-such-package");
});

test("modules of Node are there on Node only", async () => {
  const code = `export * from "node:crypto";`;
  expect(await gzippedBytes({ code, on: "node" })).toBeGreaterThan(0);
  await expect(gzippedBytes({ code })).rejects.toThrow("node:crypto");
});
