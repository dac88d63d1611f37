import { memoryStore, WebhookError } from "@svc-webhooks/core";
import { fakeClock } from "@svc-webhooks/testing";
import { storeContract, type MakeStore } from "@svc-webhooks/testing/store";
import fc from "fast-check";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { storeThrough } from "@svc-webhooks/kit/store-through";
import { brokenStores } from "./broken-stores.js";
import { casesOf, failuresOf } from "./contract-cases.js";

/** The file of the table that lists how many cases each broken store fails, and the first of them. */
const tableFile = fileURLToPath(new URL("../../docs/store-contract-table.md", import.meta.url));

const heading = `# The mistakes that the store contract detects

Each row contains a mistake of a store, how many cases of the [store contract](../tools/testing/README.md#a-stores-contract) fail for a store with this mistake, and the first of these cases. \`npx vitest run --config test/slow.config.ts test/contracts/broken-stores.slow.ts -u\` writes this page.

`;

const casesFor = (makeStore: MakeStore, abandon?: () => void) =>
  casesOf((runner) => storeContract(runner, "a store", makeStore, { abandon }));

const correctStore = () => {
  const clock = fakeClock();
  return { store: memoryStore({ clock }), advance: clock.jump, exactClock: true };
};

/** The titles of the cases that each broken store fails, by its mistake. */
const caught = new Map<string, readonly string[]>();

beforeAll(async () => {
  // The seed makes the random case use the same sequences in every run.
  fc.configureGlobal({ seed: 1 });
  for (const { mistake, make, abandon } of brokenStores) {
    caught.set(mistake, await failuresOf(casesFor(make, abandon)));
  }
});
afterAll(() => fc.resetConfigureGlobal());

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

describe("the case of connections that silently die", () => {
  /**
   * Returns the memory store over one connection. If `leaves` is true, a call on a dead connection fails with `error`,
   * and the store opens another connection.
   */
  function distant(leaves: boolean, error: () => Error, executes: boolean) {
    const store = memoryStore();
    let isDead = false;
    const over = storeThrough(store, async (send) => {
      if (!isDead) return send();
      if (executes) void send();
      isDead = !leaves;
      if (leaves) throw error();
      return new Promise<never>(() => {});
    });
    const made = () => ({ store: over, advance: () => {} });
    const abandon = () => void (isDead = true);
    return failuresOf(
      casesFor(made, abandon).filter(({ title }) => title.includes("silently died")),
    );
  }
  const notSent = () => new WebhookError("not_sent", "There is no connection.");
  const lost = () => new Error("The connection was lost.");
  const title =
    "after its connections have silently died, the store works again and reports no executed call as not sent";

  test.each([
    ["passes with a store that leaves them", true, lost, true, []],
    ["passes with a store that sent nothing", true, notSent, false, []],
    ["fails with a store that uses them for ever", false, lost, false, [title]],
  ])("%s", async (_what, leaves, error, executes, failures) => {
    expect(await distant(leaves, error, executes)).toEqual(failures);
  });
});

test.each<[string, readonly unknown[], string, string]>([
  ["no makeStore", [], "invalid_option", "makeStore"],
  ["a misspelt option", [correctStore, { abandoned: () => {} }], "unknown_option", "abandoned"],
  [
    "an abandon that is no function",
    [correctStore, { abandon: true }],
    "invalid_option",
    "abandon",
  ],
  ["options that are no object", [correctStore, "x"], "invalid_option", "options"],
  ["no sequences", [correctStore, { modelRuns: 0 }], "invalid_option", "modelRuns"],
])("the contract refuses %s", (_what, given, code, option) => {
  const register = () =>
    casesOf((runner) => (storeContract as (...all: unknown[]) => void)(runner, "s", ...given));
  expect(register).toThrow(expect.objectContaining({ code, option }));
});

test("the table in the documents is up to date; vitest -u rewrites it", async () => {
  const rows = brokenStores.map(({ mistake }) => {
    const titles = caught.get(mistake) ?? [];
    return [mistake, titles.length, titles[0]];
  });
  const head = ["a store that …", "failed cases", "first failed case"];
  const table = [head, ["---", "--:", "---"], ...rows]
    .map((texts) => `| ${texts.join(" | ")} |\n`)
    .join("");
  await expect(heading + table).toMatchFileSnapshot(tableFile);
});
