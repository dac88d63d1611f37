import { memoryStore } from "@svc-webhooks/core";
import { fakeClock, storeContract, type MakeStore } from "@svc-webhooks/testing";
import fc from "fast-check";
import { fileURLToPath } from "node:url";
import { beforeAll, expect, test } from "vitest";
import { brokenStores } from "./broken-stores.js";

/** For each broken store, the number of cases that it fails and the first of them. */
const tableFile = fileURLToPath(new URL("../../docs/store-contract-table.md", import.meta.url));

interface Case {
  readonly title: string;
  readonly run: () => Promise<void>;
}

/** The cases of the contract, which only a test runner receives. */
function casesFor(makeStore: MakeStore): readonly Case[] {
  const cases: Case[] = [];
  const runner = {
    describe: (_name: string, body: () => void) => body(),
    it: (title: string, run: Case["run"]) => cases.push({ title, run }),
  };
  storeContract(runner, "a store", makeStore);
  return cases;
}

/** The titles of the cases that a store fails. */
async function failures(makeStore: MakeStore): Promise<readonly string[]> {
  const failed: string[] = [];
  for (const { title, run } of casesFor(makeStore)) await run().catch(() => failed.push(title));
  return failed;
}

const correctStore = () => {
  const clock = fakeClock();
  return { store: memoryStore({ clock }), advance: clock.jump, exactClock: true };
};

const caught = new Map<string, readonly string[]>();

beforeAll(async () => {
  // The random case uses the same sequences in every run.
  fc.configureGlobal({ seed: 1 });
  for (const { mistake, make } of brokenStores) caught.set(mistake, await failures(make));
}, 120_000);

test("a store without a mistake passes every case", async () => {
  expect(await failures(correctStore)).toEqual([]);
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
  const rows = brokenStores.map(({ mistake, trap }) => {
    const titles = caught.get(mistake) ?? [];
    return [mistake, trap ?? "", titles.length, titles[0]];
  });
  const head = ["a store that …", "trap", "failed cases", "first failed case"];
  const table = [head, ["---", "--:", "--:", "---"], ...rows]
    .map((texts) => `| ${texts.join(" | ")} |\n`)
    .join("");
  if (process.env["PRINT"]) console.log(`\n${table}`);
  await expect(table).toMatchFileSnapshot(tableFile);
});
