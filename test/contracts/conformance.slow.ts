import type { RequestListener } from "node:http";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { isFull } from "@svc-webhooks/kit/sized";
import { root } from "@svc-webhooks/kit/programs";
import { schemeUnderTest } from "@svc-webhooks/kit/schemes";
import { listen } from "@svc-webhooks/kit/servers";
import { createReceiver } from "@svc-webhooks/core";
import { webhooks } from "@svc-webhooks/node";
import {
  receiverConformance,
  type ConformanceResult,
  type ReceiverConformanceOptions,
} from "@svc-webhooks/testing/conformance";
import { describe, expect, test, vi } from "vitest";
import { receiverContract } from "@svc-webhooks/testing/receiver";
import { planted } from "./bad-receivers.js";
import { casesOf } from "./contract-cases.js";
import { goodReceiver, serving, whileServing, type HandWrittenReceiver } from "./good-receiver.js";

const secret = "whsec_test";
/** Above the default, because several test files share the machine. */
const timeoutMs = 30_000;

type Handler = (event: unknown) => Promise<void>;

/** Serves one receiver for all cases. Its handler does nothing without `onHandler`. */
async function conformanceOf(
  receiver: HandWrittenReceiver,
  options: Partial<ReceiverConformanceOptions> = {},
): Promise<readonly ConformanceResult[]> {
  let handle: Handler = () => Promise.resolve();
  const { onHandler } = options;
  return whileServing(
    receiver,
    (event) => handle(event),
    (url) =>
      receiverConformance(url, {
        secret,
        timeoutMs,
        ...options,
        ...(onHandler && { onHandler: (handler: Handler) => (handle = handler) }),
      }),
  );
}

const seen = { onHandler: () => {} };
const failed = (results: readonly ConformanceResult[]) =>
  results.filter(({ status }) => status === "failed").map(({ title }) => title);
const failedMusts = (results: readonly ConformanceResult[]) =>
  failed(results.filter(({ level }) => level === "must"));
const statusOf = (results: readonly ConformanceResult[], title: string) =>
  results.find((one) => one.title === title)?.status;

const titles = casesOf((runner) => receiverContract(runner, "x", () => "")).map(
  ({ title }) => title,
);
const some = planted.filter((_one, index) => index > 0 && (isFull || index % 16 === 3));

describe("with a view of the handler", () => {
  test("a receiver without a mistake passes every case of the kit, in its order", async () => {
    const results = await conformanceOf(goodReceiver, seen);
    expect(results.map(({ title, status }) => [title, status])).toEqual(
      titles.map((title) => [title, "passed"]),
    );
  });
});

describe("a receiver that keeps the rules, but not every recommendation", () => {
  const methods: HandWrittenReceiver["refusal"] = ({ method }) =>
    method === "POST" ? undefined : 501;
  const length: HandWrittenReceiver["refusal"] = ({ method, headers }) =>
    headers["content-length"] === undefined && method === "POST"
      ? 411
      : goodReceiver.refusal({ method } as never);
  const chunked = "accepts a body without a Content-Length in chunks that split characters";

  test("may respond with 501 to methods that it does not implement", async () => {
    expect(failed(await conformanceOf({ ...goodReceiver, refusal: methods }, seen))).toEqual([]);
  });

  test("fails no must if it requires a Content-Length", async () => {
    const results = await conformanceOf({ ...goodReceiver, refusal: length }, seen);
    expect(failed(results)).toEqual([chunked]);
    expect(failedMusts(results)).toEqual([]);
  });

  test("fails no must if it refuses forgeries with 5xx", async () => {
    const isGenuine: HandWrittenReceiver["isGenuine"] = (body, signature) => {
      if (goodReceiver.isGenuine(body, signature)) return true;
      throw new Error("invalid signature");
    };
    const results = await conformanceOf({ ...goodReceiver, isGenuine }, seen);
    expect(failed(results)).toContain("refuses a delivery signed with another secret, with 4xx");
    expect(failedMusts(results)).toEqual([]);
  });

  test("fails a must if it accepts one of the forgeries and refuses the others with 5xx", async () => {
    const isGenuine: HandWrittenReceiver["isGenuine"] = (body, signature) => {
      if (goodReceiver.isGenuine(body, signature) || /^sha256=z+$/.test(signature)) return true;
      throw new Error("invalid signature");
    };
    expect(failedMusts(await conformanceOf({ ...goodReceiver, isGenuine }, seen))).toEqual([
      "refuses a signature that is too short, too long or not hex, with 4xx",
    ]);
  });

  test("fails no must if it queues events and responds before its handler runs", async () => {
    const results = await conformanceOf(
      {
        ...goodReceiver,
        run(records, key, handle) {
          if (!records.has(key)) setTimeout(() => void handle().catch(() => {}), 100);
          records.set(key, "done");
          return Promise.resolve(202);
        },
      },
      seen,
    );
    expect(failedMusts(results)).toEqual([]);
    expect(failed(results)).toEqual([
      "responds to a copy with 2xx only after the handler has succeeded",
      "responds with a 4xx or 5xx status if the handler fails",
      "runs a failed handler again on the next attempt",
    ]);
  });

  test("fails no must if its handler runs for each copy", async () => {
    const results = await conformanceOf(
      { ...goodReceiver, run: (_records, _key, handle) => handle().then(() => 200) },
      seen,
    );
    expect(failed(results)).toContain(
      "handles a repeated delivery once, and responds to each copy with 2xx",
    );
    expect(failedMusts(results)).toEqual([]);
  });
});

test("a Python stack trace in a response is revealed", async () => {
  const failure = () => "Traceback (most recent call last):\n";
  const results = await conformanceOf({ ...goodReceiver, failure }, seen);
  expect(failed(results)).toEqual(["does not reveal the message or stack of the handler's error"]);
});

describe("with the URL only", () => {
  test("a receiver without a mistake passes each case that its responses can show", async () => {
    const results = await conformanceOf(goodReceiver);
    expect(failed(results)).toEqual([]);
    const unjudged = results.filter(({ status }) => status === "not_applicable");
    const page = readFileSync(join(root, "docs/receivers.md"), "utf8");
    expect(page).toContain(`reports ${unjudged.length} cases as not judged`);
    for (const { reason } of unjudged) expect(reason).toMatch(/do not show how often/);
  });

  test.concurrent.each(some)(
    "a planted mistake never passes its own case: %s %s",
    async (title, _mistake, make) => {
      const results = await conformanceOf(make());
      expect(statusOf(results, title)).not.toBe("passed");
      const others = results.filter((one) => one.status === "failed" && one.title !== title);
      expect(others).toEqual([]);
    },
  );
});

test("each case has a level and a sentence of a document, and the interface has its sentences", async () => {
  const page = readFileSync(join(root, "docs/interface.md"), "utf8");
  const results = await conformanceOf(badReceiver);
  for (const { source, level } of results) {
    expect(["must", "should"]).toContain(level);
    if (source.document === "service interface") expect(page).toContain(source.quote);
    else expect(source.document).toMatch(/^(?:RFC \d{4}|Standard Webhooks 1\.0\.0)$/);
  }
});

/** A receiver that refuses everything, so that only the first case runs. */
const badReceiver: HandWrittenReceiver = { ...goodReceiver, refusal: () => 401 };

test("a refused genuine delivery ends the run", async () => {
  let requests = 0;
  const refusal = () => ((requests += 1), 401);
  const [first, ...others] = await conformanceOf({ ...goodReceiver, refusal });
  expect(first).toMatchObject({
    status: "failed",
    reason: expect.stringMatching(/^A genuine delivery got a 401 response instead of a 2xx\./),
  });
  const rest = new Set(others.map(({ status, reason }) => `${status}: ${reason}`));
  expect([...rest]).toEqual(["not_applicable: The receiver failed the first case."]);
  expect(requests).toBe(1);
});

test("results are reported one by one", async () => {
  const onResult = vi.fn<NonNullable<ReceiverConformanceOptions["onResult"]>>();
  const results = await conformanceOf(badReceiver, { onResult });
  expect(onResult.mock.calls).toEqual(results.map((one, index) => [one, index, results.length]));
});

test("an abort ends the run with the signal's reason", async () => {
  const controller = new AbortController();
  const refusal = () => {
    controller.abort(new Error("stopped"));
    return 401;
  };
  const run = conformanceOf({ ...goodReceiver, refusal }, { signal: controller.signal });
  await expect(run).rejects.toThrow("stopped");
});

test("requests go to the addresses that `lookup` returns", async () => {
  const port = await listen(serving(badReceiver, () => Promise.resolve()));
  const lookup: ReceiverConformanceOptions["lookup"] = (_name, _options, callback) =>
    callback(null, [{ address: "127.0.0.1", family: 4 }]);
  const [first] = await receiverConformance(`http://receiver.invalid:${port}/`, { secret, lookup });
  expect(first?.reason).toContain("got a 401 response");
});

test("a delivery that arrives after its case counts for its own case", async () => {
  const results = await conformanceOf(
    {
      ...goodReceiver,
      async run(records, key, handle, event) {
        const isCopy = records.has(key);
        const status = await goodReceiver.run(records, key, handle, event);
        // Longer than a case, and shorter than the whole run.
        if (!isCopy) setTimeout(() => void handle().catch(() => {}), 100);
        return status;
      },
    },
    seen,
  );
  // Only the cases that wait for late runs see them.
  const late = failed(results).filter((title) => !title.includes("after"));
  expect(late.filter((title) => title.startsWith("refuses"))).toEqual([]);
});

test("a receiver of another sender is judged by that sender's cases and sources", async () => {
  const { scheme, secret: received, signingSecret } = await schemeUnderTest("stripe");
  const receiver = createReceiver({ scheme, secret: received, on: { "*": () => {} }, log() {} });
  const port = await listen(webhooks(receiver));
  const results = await receiverConformance(`http://127.0.0.1:${port}/`, {
    secret: signingSecret,
    scheme: "stripe",
    timeoutMs,
  });
  expect(failed(results)).toEqual([]);
  const title = "refuses a delivery that was signed a day before or after it arrived";
  expect(statusOf(results, title)).toBe("passed");
  const reasons = results.map(({ reason }) => reason);
  expect(reasons).toContain("This case does not apply to the sender stripe.");
  const documents = new Set(
    results.filter(({ status }) => status === "passed").map(({ source }) => source.document),
  );
  expect([...documents]).not.toContain("service interface");
});

/** Accepts the first delivery, and then leaves every request to `hostile`. */
const afterFirst = (hostile: RequestListener): RequestListener => {
  let isFirst = true;
  const good = serving(goodReceiver, () => Promise.resolve());
  return (request, response) => {
    const listener = isFirst ? good : hostile;
    isFirst = false;
    listener(request, response);
  };
};

/** Calls `drip` often, and `end` after about three seconds, so that no mistake of the sender blocks the tests. */
function dripping(drip: () => void, end: () => void): void {
  let left = 150;
  const timer = setInterval(() => {
    left -= 1;
    if (left > 0) return drip();
    clearInterval(timer);
    end();
  }, 20);
}

const hostile: readonly (readonly [string, RequestListener, RegExp])[] = [
  ["never responds", () => {}, /^No response arrived within 1000 ms\./],
  [
    "sends its headers byte by byte",
    ({ socket }) => {
      socket.write("HTTP/1.1 200 OK\r\nX: ");
      dripping(
        () => socket.write("x"),
        () => socket.end("\r\n\r\n"),
      );
      socket.on("error", () => {});
    },
    /^No response arrived within 1000 ms\./,
  ],
  [
    "sends its body byte by byte",
    (_request, response) => {
      dripping(
        () => response.write("x"),
        () => response.end(),
      );
    },
    /^No response arrived within 1000 ms\./,
  ],
  [
    "sends a body without an end",
    (_request, response) => {
      const more = () => {
        while (!response.destroyed && response.write(Buffer.alloc(65_536)));
      };
      response.on("drain", more);
      more();
    },
    /^The response is larger than 1 MiB/,
  ],
  [
    "sends huge headers",
    ({ socket }) => socket.write(`HTTP/1.1 200 OK\r\nX: ${"x".repeat(100_000)}\r\n\r\n`),
    /^The response is not valid HTTP, or its headers are larger than 16 KiB\./,
  ],
  [
    "upgrades the connection",
    ({ socket }) =>
      socket.write("HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: Upgrade\r\n\r\n"),
    /^The receiver closed the connection without a response\./,
  ],
];

test.each(hostile)(
  "a receiver that %s fails, and the next case runs",
  async (_what, listener, reason) => {
    const port = await listen(afterFirst(listener));
    const results: ConformanceResult[] = [];
    const controller = new AbortController();
    const run = receiverConformance(`http://127.0.0.1:${port}/`, {
      secret,
      timeoutMs: 1_000,
      signal: controller.signal,
      onResult(result) {
        results.push(result);
        if (results.length === 2) controller.abort(new Error("enough"));
      },
    });
    await expect(run).rejects.toThrow("enough");
    const [first, second] = results;
    expect(first?.status).toBe("passed");
    expect(second).toMatchObject({ status: "failed", reason: expect.stringMatching(reason) });
  },
);

test.each<readonly [string, string, object]>([
  ["url", "ftp://example.org", { secret }],
  ["timeoutMs", "http://127.0.0.1:1", { secret, timeoutMs: 0 }],
  ["scheme", "http://127.0.0.1:1", { secret, scheme: "strip" }],
  ["secret", "http://127.0.0.1:1", { secret: "" }],
  ["timeout", "http://127.0.0.1:1", { secret, timeout: 1 }],
])("refuses an invalid %s", async (option, url, options) => {
  await expect(receiverConformance(url, options as never)).rejects.toMatchObject({
    name: "ConfigError",
    option,
  });
});

test("docs/receiver-contract-table.md has every case with its level and its sources (vitest -u writes it)", async () => {
  const byUrl = await conformanceOf(goodReceiver);
  const { secret: received, signingSecret, scheme } = await schemeUnderTest("stripe");
  const receiver = createReceiver({ scheme, secret: received, on: { "*": () => {} }, log() {} });
  const port = await listen(webhooks(receiver));
  const ofScheme = await receiverConformance(`http://127.0.0.1:${port}/`, {
    secret: signingSecret,
    scheme: "stripe",
    timeoutMs,
  });
  const cell = ({ source: { document, section, quote } }: ConformanceResult) =>
    `${document}, ${/^\d/.test(section) ? `section ${section}` : section}: “${quote}”`;
  const lines = ofScheme.map((theirs) => {
    const one = byUrl.find(({ title }) => title === theirs.title) ?? theirs;
    const differs = cell(theirs) !== cell(one);
    const isShown = (one === theirs ? theirs : one).status === "passed";
    return [one.title, one.level, isShown ? "yes" : "", cell(one), differs ? cell(theirs) : ""];
  });
  const head = ["case", "level", "judged by URL alone", "source", "source for other senders"];
  const rows = [head, head.map(() => "---"), ...lines];
  const table = rows.map((cells) => `| ${cells.join(" | ")} |\n`).join("");
  const page = `# The cases of the receiver contract

\`npx vitest run --config test/slow.config.ts test/contracts/conformance.slow.ts -u\` writes this page, and [How receivers compare](receivers.md) explains it. The case about the time of signing applies only to senders that sign one.

${table}`;
  await expect(page).toMatchFileSnapshot(join(root, "docs/receiver-contract-table.md"));
});
