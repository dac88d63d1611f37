import { once } from "node:events";
import { readFileSync } from "node:fs";
import type { RequestListener } from "node:http";
import { join } from "node:path";
import { isFull, sized } from "@svc-webhooks/kit/sized";
import { root, startModule } from "@svc-webhooks/kit/programs";
import { receiverContract, type MountReceiver } from "@svc-webhooks/testing/receiver";
import { codeIn, tableOf } from "@svc-webhooks/kit/tables";
import { format, resolveConfig } from "prettier";
import { beforeAll, describe, expect, it, onTestFinished, test } from "vitest";
import { badReceivers, planted } from "./bad-receivers.js";
import { casesOf, failuresOf, type ContractCase } from "./contract-cases.js";
import { goodReceiver, serving, type HandWrittenReceiver } from "./good-receiver.js";
import { byDeliveryId, ours, served } from "./mounted-receivers.js";
import { others } from "./published-receivers.js";
import { sampled } from "./sampled.js";

/** Above the default, because several test files share the machine. */
const timeoutMs = 30_000;

for (const [name, mount] of Object.entries(ours)) {
  receiverContract({ describe, it }, name, mount, { timeoutMs });
}

const casesFor = (mount: MountReceiver) =>
  casesOf((runner) => receiverContract(runner, "a receiver", mount, { timeoutMs }));

const casesOver = (make: () => HandWrittenReceiver) =>
  casesFor(served((handler) => serving(make(), handler)));
const failures = (make: () => HandWrittenReceiver) => failuresOf(casesOver(make));
const failuresAround = (title: string, make: () => HandWrittenReceiver) =>
  failuresOf(sampled(casesOver(make), title));

const titles = casesFor(() => "").map(({ title }) => title);

test("no title has the number of a trap, which users cannot look up", () => {
  expect(titles.filter((title) => /\btraps? \d/.test(title))).toEqual([]);
});

describe("a hand-written receiver without a mistake", () => {
  const sent = new Set<string>();
  const subscribes: HandWrittenReceiver["subscribes"] = (type) => {
    if (type) sent.add(type);
    return goodReceiver.subscribes(type);
  };
  let failed: readonly string[];
  beforeAll(async () => {
    failed = await failures(() => ({ ...goodReceiver, subscribes }));
  });

  test("passes every case", () => {
    expect(failed).toEqual([]);
  });

  test.each(["tools/testing/README.md", "docs/test-your-handler.md"])(
    "receives the types of events that %s names",
    (page) => {
      const text = readFileSync(join(root, page), "utf8");
      const [paragraph = ""] = /^Most deliveries are .*$/m.exec(text) ?? [];
      const named = codeIn(paragraph).filter((code) => sent.has(code));
      expect(named).toEqual([...sent]);
      expect(sent.size).toBe(4);
    },
  );
});

test("a receiver that refuses a byte order mark passes every case", async () => {
  const parse = (body: Buffer) => {
    // Unlike TextDecoder, `toString` keeps the byte order mark, which JSON.parse rejects.
    JSON.parse(body.toString());
    return goodReceiver.parse(body);
  };
  expect(await failures(() => ({ ...goodReceiver, parse }))).toEqual([]);
});

test("a receiver whose responses have a header with the value confidential passes every case", async () => {
  const classified = served((handler) => {
    const listener = serving(goodReceiver, handler);
    return (request, response) => {
      response.setHeader("X-Classification", "confidential");
      listener(request, response);
    };
  });
  expect(await failuresOf(casesFor(classified))).toEqual([]);
});

describe("a receiver that locks after wrong signatures", () => {
  /** Mounts the good receiver, and calls `refuse` instead of it after `most` wrong signatures. */
  const locking = (most: number, refuse: RequestListener) =>
    served((handler) => {
      const listener = serving(goodReceiver, handler);
      let wrong = 0;
      return (request, response) => {
        if (wrong >= most) return refuse(request, response);
        response.once("finish", () => (wrong += Number(response.statusCode === 401)));
        listener(request, response);
      };
    });

  const locks: readonly (readonly [string, RequestListener, RegExp])[] = [
    [
      "responds with 401",
      (_request, response) => response.writeHead(401).end(),
      /^Not checked: .+ refuses genuine deliveries with 401\. Turn off its lockout or rate limit/,
    ],
    [
      "closes connections",
      ({ socket }) => socket.destroy(),
      /^Not checked: .+ does not respond to genuine deliveries\. Turn off its lockout or rate limit/,
    ],
  ];

  /** Returns the distinct messages of the cases that fail. */
  async function messagesOf(cases: readonly ContractCase[]): Promise<readonly string[]> {
    const messages = new Set<string>();
    for (const { run } of cases) {
      await run().catch((error: unknown) => messages.add((error as Error).message));
    }
    return [...messages];
  }

  describe.each(locks)("and %s", (_what, refuse, notJudged) => {
    test("passes every case if it is mounted for each and locks after five", async () => {
      expect(await failuresOf(casesFor(locking(5, refuse)))).toEqual([]);
    });

    test.each(sized([1], [1, 2]))("is not accused if it locks after %i", async (most) => {
      expect(await messagesOf(casesFor(locking(most, refuse)))).toEqual([
        expect.stringMatching(notJudged),
      ]);
    });

    test("is not accused by its URL", async () => {
      const mounted = await locking(5, refuse)(() => Promise.resolve());
      const { url, close } = Object(mounted) as { url: string; close: () => void };
      onTestFinished(close);
      const cases = casesOf((one) => receiverContract(one, "by URL", url));
      expect(await messagesOf(cases)).toEqual([expect.stringMatching(notJudged)]);
    });
  });
});

test("a receiver whose process ends at a forgery fails with the fix", async () => {
  const child = startModule(`
      import { createServer } from "node:http";
      const server = createServer((request, response) => {
        request.resume().on("end", () => {
          if (request.headers["x-svc-signature"] !== undefined) response.end();
          else process.exit(1);
        });
      });
      server.listen(0, "127.0.0.1", () => process.send(server.address().port));`);
  const [port] = (await once(child, "message")) as readonly number[];
  const url = `http://127.0.0.1:${String(port)}/`;
  const cases = casesOf((one) => receiverContract(one, "by URL", url));
  const unsigned = cases.find(({ title }) => title.startsWith("refuses a delivery without a sig"));
  await expect(unsigned?.run()).rejects.toThrow(
    "The receiver closed the connection without a response. A request without a signature must not skip",
  );
});

test("there is one bad receiver for each case, in the contract's order", () => {
  expect(Object.keys(badReceivers)).toEqual(titles);
});

const [[handlesNothing, , refusing] = ["", "", () => goodReceiver], ...bad] = planted;

test(`a bad receiver that fails this case fails all: ${handlesNothing}`, async () => {
  expect(await failures(refusing)).toEqual(titles);
});

test.concurrent.each(bad)("a bad receiver fails only this case: %s %s", async (title, _, make) => {
  expect(await failuresAround(title, make)).toEqual([title]);
});

test("with dedupeBy delivery, the default, only captured bodies are handled again or block an event", async () => {
  expect(await failuresOf(casesFor(byDeliveryId))).toEqual([
    "does not handle a captured body again under another delivery id or without one",
    "handles an event even if a captured body was sent under its delivery id",
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
  expect(register).toThrow(expect.objectContaining({ name: "ConfigError", option }) as Error);
});

describe("docs/receivers.md", () => {
  const page = join(root, "docs/receivers.md");
  const columns = { "svc-webhooks": ours["node:http"], ...others };
  const failed = new Map<string, readonly string[]>();
  // Only in full, the cases that a receiver passes are run too.
  const listed = tableOf("docs/receivers.md", "case");

  beforeAll(async () => {
    for (const [name, mount] of Object.entries(columns)) {
      if (!mount) continue;
      const cases = casesFor(mount).filter(
        ({ title }) => isFull || listed.some((row) => row["case"] === title && row[name] === "✘"),
      );
      failed.set(name, await failuresOf(cases));
    }
  });

  test("has the results of published receivers (vitest -u writes them in full)", async () => {
    const names = Object.keys(columns);
    const rows = titles
      .filter((title) => names.some((name) => failed.get(name)?.includes(title)))
      .map((title) => [
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
