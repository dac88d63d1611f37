import { ConfigError } from "@svc-webhooks/core";
import {
  inboxContract,
  type InboxContractOptions,
  type MakeInbox,
} from "@svc-webhooks/testing/inbox";
import { isFull } from "@svc-webhooks/kit/sized";
import { tableOf } from "@svc-webhooks/kit/tables";
import { fileURLToPath } from "node:url";
import { beforeAll, expect, test } from "vitest";
import { brokenInboxes } from "./broken-inboxes.js";
import { casesOf, failuresOf } from "./contract-cases.js";
import { simulatedInbox } from "./simulated-inbox.js";

/** The file of the table that lists the cases that each broken queue fails. */
const tableFile = fileURLToPath(new URL("../../docs/inbox-contract-table.md", import.meta.url));

const heading = `# The mistakes that the inbox contract detects

Each row contains a mistake of a queue, and the cases of the [inbox contract](../tools/testing/README.md#an-inboxs-contract) that fail for a queue with this mistake. \`SVC_SUITE=full npx vitest run --config test/slow.config.ts test/contracts/broken-inboxes.slow.ts -u\` writes this page.

`;

/** The abilities of the simulated queue that are not the default. */
const able = { demote: true, fill: true, order: true, silence: true };

const casesFor = (makeInbox: MakeInbox, options: InboxContractOptions = {}) =>
  casesOf((runner) => inboxContract(runner, "a queue", makeInbox, { ...able, ...options }));

const correctInbox = simulatedInbox();
const limited = { maxBodyBytes: 100_000 };

/** The titles of the cases that each broken queue fails according to the table, by its mistake. */
const listed = new Map(
  tableOf("docs/inbox-contract-table.md", "a queue that …").map((row) => [
    row["a queue that …"],
    row["failed cases"]?.split("<br>"),
  ]),
);

/** The titles of the cases that each broken queue fails, by its mistake. Only in full, unlisted cases are run too. */
const caught = new Map<string, readonly string[]>();

beforeAll(async () => {
  for (const { mistake, make, options } of brokenInboxes) {
    const cases = casesFor(make, options);
    const some = cases.filter(({ title }) => isFull || listed.get(mistake)?.includes(title));
    caught.set(mistake, await failuresOf(some));
  }
});

test.each(brokenInboxes.map(({ mistake }) => mistake))(
  "the contract detects a queue that %s",
  (mistake) => {
    expect(caught.get(mistake)).not.toEqual([]);
  },
);

test("each case detects a mistake", () => {
  const titles = casesFor(correctInbox, limited).map(({ title }) => title);
  const detecting = new Set([...caught.values()].flat());
  expect(titles.filter((title) => !detecting.has(title))).toEqual([]);
});

test("a queue without a mistake passes every case", async () => {
  expect(await failuresOf(casesFor(correctInbox))).toEqual([]);
});

test("a queue that refuses bodies above its limit passes", async () => {
  const makeInbox = simulatedInbox(() => ({
    enqueue: (correct) => async (job, call) => {
      if (job.body.length > limited.maxBodyBytes) throw new Error("The message is too large.");
      await correct(job, call);
    },
  }));
  expect(await failuresOf(casesFor(makeInbox, limited))).toEqual([]);
});

test("a queue that refuses receivers of bodies above its limit passes", async () => {
  const limit = casesFor(async (settings) => {
    const made = await correctInbox(settings);
    let connections = 0;
    return {
      ...made,
      async connect() {
        connections += 1;
        if (connections > 1) throw new ConfigError("invalid_option", "maxBodyBytes", "");
        return made.connect();
      },
    };
  }, limited).find(({ title }) => title.startsWith("a delivery whose body exceeds"));
  await expect(limit?.run()).resolves.toBeUndefined();
});

test.each(["admin", "deduplicates", "demote", "fill", "kill", "order", "silence"] as const)(
  "cases that need %s are registered only if the queue has it",
  (ability) => {
    const all = casesFor(correctInbox).length;
    expect(casesFor(correctInbox, { [ability]: false }).length).toBeLessThan(all);
  },
);

test.each<[string, readonly unknown[], string, string]>([
  ["no makeInbox", [], "invalid_option", "makeInbox"],
  ["a misspelt option", [correctInbox, { orders: true }], "unknown_option", "orders"],
  ["an ability that is no boolean", [correctInbox, { kill: "no" }], "invalid_option", "kill"],
  ["a limit of no bytes", [correctInbox, { maxBodyBytes: 0 }], "invalid_option", "maxBodyBytes"],
  ["an endless wait", [correctInbox, { timeoutMs: Infinity }], "invalid_option", "timeoutMs"],
])("the contract refuses %s", (_what, given, code, option) => {
  const register = () =>
    casesOf((runner) => (inboxContract as (...all: unknown[]) => void)(runner, "q", ...given));
  expect(register).toThrow(expect.objectContaining({ code, option }));
});

test.each([
  ["admin", /unless the option `admin` is false/],
  ["kill", /unless the option `kill` is false/],
  ["silence", /unless the option `silence` is false/],
])("a connection without %s fails the cases that need it", async (member, text) => {
  const cases = casesFor(async (settings) => {
    const made = await correctInbox(settings);
    return {
      ...made,
      deadLetters: () => [],
      connect: async () => ({ ...(await made.connect()), [member]: undefined }),
    };
  });
  const failed = cases.map(({ run }) => run().then(undefined, String));
  expect(await Promise.all(failed)).toContainEqual(expect.stringMatching(text));
});

test("the table in the documents is up to date; vitest -u rewrites it in full", async () => {
  const rows = brokenInboxes.map(({ mistake }) => [
    mistake,
    (caught.get(mistake) ?? []).join("<br>"),
  ]);
  const table = [["a queue that …", "failed cases"], ["---", "---"], ...rows]
    .map((texts) => `| ${texts.join(" | ")} |\n`)
    .join("");
  await expect(heading + table).toMatchFileSnapshot(tableFile);
});
