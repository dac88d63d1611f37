import { readFileSync } from "node:fs";
import { join } from "node:path";
import { root } from "@svc-webhooks/kit/programs";
import { receiverContract, type MountReceiver } from "@svc-webhooks/testing/receiver";
import { codeIn } from "@svc-webhooks/kit/tables";
import { format, resolveConfig } from "prettier";
import { beforeAll, describe, expect, it, onTestFinished, test } from "vitest";
import { badReceivers } from "./bad-receivers.js";
import { variants } from "./bad-to-strangers.js";
import { casesOf, failuresOf } from "./contract-cases.js";
import { goodReceiver, serving, type HandWrittenReceiver } from "./good-receiver.js";
import { byDeliveryId, ours, served } from "./mounted-receivers.js";
import { others } from "./published-receivers.js";

/** More than the default, because several test files share the machine. */
const timeoutMs = 10_000;

for (const [name, mount] of Object.entries(ours)) {
  receiverContract({ describe, it }, name, mount, { timeoutMs });
}

const casesFor = (mount: MountReceiver) =>
  casesOf((runner) => receiverContract(runner, "a receiver", mount, { timeoutMs }));

const failures = (make: () => HandWrittenReceiver) =>
  failuresOf(casesFor(served((handler) => serving(make(), handler))));

const titles = casesFor(() => "").map(({ title }) => title);

test("no title has the number of a trap, which users cannot look up", () => {
  expect(titles.filter((title) => /\btraps? \d/.test(title))).toEqual([]);
});

test("a hand-written receiver without a mistake passes every case", async () => {
  expect(await failures(() => goodReceiver)).toEqual([]);
});

test("there is one bad receiver for each case, in the contract's order", () => {
  expect(Object.keys(badReceivers)).toEqual(titles);
});

const [[handlesNothing, refusing] = ["", () => goodReceiver], ...bad] =
  Object.entries(badReceivers);

test(`a bad receiver that fails this case fails all: ${handlesNothing}`, async () => {
  expect(await failures(refusing)).toEqual(titles);
});

test.concurrent.each(bad)("a bad receiver fails only this case: %s", async (title, make) => {
  expect(await failures(make)).toEqual([title]);
});

test.concurrent.each(variants)(
  "a bad receiver fails only this case: %s (%s)",
  async (title, _, make) => {
    expect(await failures(make)).toEqual([title]);
  },
);

test("with dedupeBy delivery, the default, only captured bodies are handled again or block an event", async () => {
  expect(await failuresOf(casesFor(byDeliveryId))).toEqual([
    "does not handle a captured body again under another delivery id, or none",
    "handles an event although a captured body was sent under its delivery id",
  ]);
});

describe("with a URL in place of mount", () => {
  const registered: string[] = [];
  const skipped: string[] = [];
  const register = (title: string) => registered.push(title);
  const runner = { describe: (_name: string, body: () => void) => body(), it: register };

  test("the cases that need a handler are skipped by name", () => {
    const skipping = Object.assign((title: string) => register(title), {
      skip: (title: string) => skipped.push(title),
    });
    receiverContract({ ...runner, it: skipping }, "by URL", "http://127.0.0.1:1");
    expect([...registered.splice(0), ...skipped]).toEqual(titles);
    expect(skipped).toHaveLength(9);
  });

  test("a runner without it.skip has them in the titles of tests", () => {
    receiverContract(runner, "by URL", "http://127.0.0.1:1");
    const marked = skipped.map((title) => `${title} (skipped: it needs mount)`);
    expect(registered.filter((title) => title.includes("skipped"))).toEqual(marked);
    expect(registered).toHaveLength(titles.length);
  });

  test("the other cases pass for a good receiver", async () => {
    const mounted = await served((handler) => serving(goodReceiver, handler))(() =>
      Promise.resolve(),
    );
    const { url, close } = Object(mounted) as { url: string; close: () => void };
    onTestFinished(close);
    const cases = casesOf((one) => receiverContract(one, "by URL", url));
    expect(await failuresOf(cases)).toEqual([]);
  });
});

test.each<readonly [string, () => void]>([
  ["mount", () => receiverContract({ describe, it }, "x", "ftp://example.org")],
  ["mount", () => receiverContract({ describe, it }, "x", undefined as never)],
  ["timeoutMs", () => receiverContract({ describe, it }, "x", () => "", { timeoutMs: 0 })],
  ["timeout", () => receiverContract({ describe, it }, "x", () => "", { timeout: 1 } as never)],
])("refuses an invalid %s", (option, register) => {
  expect(register).toThrow(
    expect.objectContaining({ name: "ReceiverConfigError", option }) as Error,
  );
});

test.each(["packages/testing/README.md", "docs/test-your-handler.md"])(
  "%s names the types of the events that are sent",
  async (page) => {
    const sent = new Set<string>();
    const subscribes: HandWrittenReceiver["subscribes"] = (type) => {
      if (type) sent.add(type);
      return goodReceiver.subscribes(type);
    };
    expect(await failures(() => ({ ...goodReceiver, subscribes }))).toEqual([]);
    const text = readFileSync(join(root, page), "utf8");
    const [paragraph = ""] = /^Most deliveries are .*$/m.exec(text) ?? [];
    const named = codeIn(paragraph).filter((code) => sent.has(code));
    expect(named).toEqual([...sent]);
    expect(sent.size).toBe(4);
  },
);

describe("docs/receivers.md", () => {
  const page = join(root, "docs/receivers.md");
  const columns = { "svc-webhooks": ours["node:http"], ...others };
  const failed = new Map<string, readonly string[]>();

  beforeAll(async () => {
    for (const [name, mount] of Object.entries(columns)) {
      if (mount) failed.set(name, await failuresOf(casesFor(mount)));
    }
  }, 60_000);

  test("has the results of published receivers (vitest -u writes them)", async () => {
    const names = Object.keys(columns);
    const rows = titles.map((title) => [
      title,
      ...names.map((name) => (failed.get(name)?.includes(title) ? "✘" : "✔")),
    ]);
    const sum = names.map((name) => `${titles.length - (failed.get(name)?.length ?? 0)}`);
    const head = ["case", ...names];
    const lines = [
      head,
      head.map((_, at) => (at ? ":-:" : "---")),
      ...rows,
      ["**passed**", ...sum],
    ];
    const table = lines.map((cells) => `| ${cells.join(" | ")} |\n`).join("");
    const written = readFileSync(page, "utf8").replace(
      /^\| case .*\|\n(?:\|.*\|\n)*/m,
      () => table,
    );
    const options = await resolveConfig(page);
    await expect(await format(written, { ...options, filepath: page })).toMatchFileSnapshot(page);
  });
});
