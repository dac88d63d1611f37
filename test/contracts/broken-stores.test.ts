import { memoryStore } from "@svc-webhooks/core";
import { fakeClock } from "@svc-webhooks/testing";
import { storeContract, type MakeStore } from "@svc-webhooks/testing/store";
import fc from "fast-check";
import { fileURLToPath } from "node:url";
import { beforeAll, expect, test } from "vitest";
import { brokenStores } from "./broken-stores.js";
import { casesOf, failuresOf } from "./contract-cases.js";

/** For each broken store, the number of cases that it fails and the first of them. */
const tableFile = fileURLToPath(new URL("../../docs/store-contract-table.md", import.meta.url));

const casesFor = (makeStore: MakeStore) =>
  casesOf((runner) => storeContract(runner, "a store", makeStore));

const correctStore = () => {
  const clock = fakeClock();
  return { store: memoryStore({ clock }), advance: clock.jump, exactClock: true };
};

/** The titles of the cases that each broken store fails. */
const caught = new Map<string, readonly string[]>();

beforeAll(async () => {
  // The random case uses the same sequences in every run.
  fc.configureGlobal({ seed: 1 });
  for (const { mistake, make } of brokenStores) {
    caught.set(mistake, await failuresOf(casesFor(make)));
  }
}, 120_000);

test("a store without a mistake passes every case", async () => {
  expect(await failuresOf(casesFor(correctStore))).toEqual([]);
});

test.each(brokenStores.map(({ mistake }) => mistake))(
  "the contract detects a store that %s",
  (mistake) => {
    expect(caught.get(mistake)).not.toEqual([]);
  },
);

test("each case detects a mistake", () => {
  const titles = casesFor(correctStore).map(({ title }) => title);
  const detecting = new Set([...caught.values()].flat());
  expect(titles.filter((title) => !detecting.has(title))).toEqual([]);
});

test("the table in the documents is up to date; vitest -u rewrites it", async () => {
  const rows = brokenStores.map(({ mistake, trap = "" }) => {
    const titles = caught.get(mistake) ?? [];
    return [mistake, trap, titles.length, titles[0]];
  });
  const head = ["a store that …", "trap", "failed cases", "first failed case"];
  const table = [head, ["---", "--:", "--:", "---"], ...rows]
    .map((texts) => `| ${texts.join(" | ")} |\n`)
    .join("");
  await expect(table).toMatchFileSnapshot(tableFile);
});
