import { writeFileSync } from "node:fs";
import { createClient } from "@svc-webhooks/client";
import { memoryStore, WebhookError, type Receiver, type RecordState } from "@svc-webhooks/core";
import { pageLink } from "@svc-webhooks/core/outcomes";
import { reconciledService, type ReconciledService } from "@svc-webhooks/kit/reconciled-service";
import { openSandbox } from "@svc-webhooks/kit/sandboxes";
import { listen } from "@svc-webhooks/kit/servers";
import { until } from "@svc-webhooks/kit/until";
import { testPosix } from "@svc-webhooks/kit/systems";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { loadModule } from "../src/lib/module.js";
import { createProgress } from "../src/lib/terminal/progress.js";
import { loadJobs } from "../src/reconcile/jobs.js";
import { loadRecords } from "../src/reconcile/receiver.js";
import { walk } from "../src/reconcile/walk.js";
import { coreModule } from "./inbox-admin.js";
import { cli, testInTerminal, inTerminal, newFile, shell, start } from "./support.js";

const hour = 3_600_000;

/** Writes a module, and returns its path. */
function moduleOf(text: string): string {
  const file = newFile("receiver.mjs");
  writeFileSync(file, text);
  return file;
}

/** Values that the modules of a test export. */
const shared: Record<string, unknown> = {};
Object.assign(globalThis, { sharedWithModules: shared });

/** Writes a module that exports this receiver. */
function receiverFile(receiver: Pick<Receiver, "peek">, exported = "default"): string {
  const id = `${Object.keys(shared).length}`;
  shared[id] = receiver;
  return moduleOf(
    `const receiver = globalThis.sharedWithModules["${id}"]; export { receiver as ${exported} };`,
  );
}

/** A receiver with these records only. It runs in the test's process, or in another one. */
const recordsFile = (states: Readonly<Record<string, RecordState>> = {}) =>
  moduleOf(
    `const states = ${JSON.stringify(states)};
    export const receiver = { peek: async (ids) => ids.map((one) => states[one.deliveryId]) };`,
  );

/** The service and its receiver, in memory. */
const newService = async () => {
  const service = await reconciledService(memoryStore());
  return { service, file: receiverFile(service.receiver) };
};

type Report = Readonly<Record<string, unknown>>;

const args = (url: string, file: string, ...more: readonly string[]) => [
  "reconcile",
  `--base-url=${url}`,
  `--receiver=${file}`,
  ...more,
];

/** Runs the command with `--json`. */
async function reconcile({ url }: Pick<ReconciledService, "url">, file: string, ...more: string[]) {
  const { code, stdout, stderr } = await cli(args(url, file, "--json", ...more));
  const error = stderr === "" ? undefined : (JSON.parse(stderr) as { error: Report }).error;
  return { code, error, report: JSON.parse(stdout || "{}") as Report };
}

const now = Date.now();

const createdAt = (ageMs: number) => new Date(now - ageMs).toISOString();

/** A delivery as another service lists it. */
const listed = (delivery_id: string, status: string, ageMs: number, more: object = {}) => ({
  delivery_id,
  event_id: `evt_${delivery_id}`,
  type: "email.sent",
  status,
  created_at: createdAt(ageMs),
  ...more,
});

/** A response: its body, its status, or none at all. */
type Reply = object | number | "none";

/** Serves the interface of a service that is not a sandbox. Each page has the number of the next one as its cursor. */
async function otherService(
  pages: readonly Reply[],
  redelivery: (id: string) => Reply = () => 404,
) {
  const requests: string[] = [];
  const port = await listen((request, response) => {
    const { pathname, searchParams } = new URL(request.url ?? "", "http://localhost");
    requests.push(`${request.method} ${request.url}`);
    const at = Number(searchParams.get("after") ?? 0);
    const [, id] = /\/webhook-events\/(.+):redeliver$/.exec(pathname) ?? [];
    const page = { data: pages[at], next_cursor: at + 1 < pages.length ? `${at + 1}` : null };
    const found = pathname === "/v1/webhook-events" ? (pages[at] ?? 404) : 404;
    const reply = id === undefined ? found : redelivery(id);
    if (reply === "none") return;
    response.statusCode = typeof reply === "number" ? reply : 200;
    response.setHeader("content-type", "application/json");
    const body = id === undefined ? page : reply;
    response.end(
      JSON.stringify(
        typeof reply === "number" ? { error: { code: "authentication_required" } } : body,
      ),
    );
  });
  return { url: `http://127.0.0.1:${port}`, requests };
}

describe("reconcile", () => {
  test("prints each field with its meaning and the next step, and exits with 1", async () => {
    const { service, file } = await newService();
    await service.deliver("done");
    await service.deliver("failed");
    const missing = await service.deliver("dropped");
    const lost = await service.deliver("forgotten");
    const { code, stdout, stderr } = await cli(args(service.url, file));
    expect([code, stderr]).toEqual([1, ""]);
    expect(stdout).toMatch(/^Deliveries to we_\w+ since .*: 8, the newest at .*\n\nfield +count +/);
    expect(stdout).toMatch(/\ndone +2 +handled\n/);
    expect(stdout).toMatch(/\nrunning +0 +a handler is running\n/);
    expect(stdout).toMatch(/\nqueued +0 +waiting or dead in the queue\n/);
    expect(stdout).toMatch(/\nfailed +2 .*no run has succeeded +find handler_failed in the log\n/);
    expect(stdout).toMatch(/\nmissing +2 +not acknowledged.* +add --redeliver\n/);
    expect(stdout).toMatch(/\nlost +2 +acknowledged, but .* +find what lost the data\n/);
    expect(stdout).toContain(
      `\n${pageLink("docs/reconcile", "what-it-reports")} explains each field.\n`,
    );
    expect(stdout).toContain(`The newest missing deliveries:\n  ${missing.join("\n  ")}\n`);
    expect(stdout).toContain(`The newest lost deliveries:\n  ${lost.join("\n  ")}\n`);
    expect(stdout).toMatch(/\nThe list ended before --since: .* only the time from /);
    expect(stdout).toMatch(/\nThe oldest missing delivery was created at /);
  });

  test("prints what --redeliver has done, and exits with 0 once it is handled", async () => {
    const { service, file } = await newService();
    await service.deliver("dropped");
    const first = await cli(args(service.url, file, "--redeliver", "--max-redeliver=1"));
    expect(first.code).toBe(1);
    expect(first.stdout).toContain("\nRedelivered: 1 of 2 missing deliveries.\n");
    expect(first.stdout).toContain("run this command again to check");
    await service.advance(1_000);
    const second = await reconcile(service, file, "--redeliver");
    expect(second.report).toMatchObject({ done: 1, missing_count: 1, redelivered: 1 });
    await service.advance(1_000);
    const third = await reconcile(service, file);
    expect(third).toMatchObject({ code: 0, report: { done: 2, missing: [], problems: [] } });
  });

  test("prints ten ids of a field, and --json all", async () => {
    const items = Array.from({ length: 12 }, (_, at) => listed(`dlv_${at}`, "failed", hour + at));
    const { url } = await otherService([items]);
    const file = recordsFile();
    const { stdout } = await cli(args(url, file, "--endpoint=we_1"));
    expect(stdout).toContain("\n  dlv_9\n  and 2 more; --json prints up to 10,000\n");
    expect(stdout).not.toContain("dlv_10");
    const { report } = await reconcile({ url }, file, "--endpoint=we_1");
    expect(report["missing"]).toHaveLength(12);
  });

  test("removes control characters from the ids of the service", async () => {
    const { url } = await otherService([[listed("dlv_\u001b[31m1\u202e", "failed", hour)]]);
    const { stdout } = await cli(args(url, recordsFile(), "--endpoint=we_1"));
    expect(stdout).toContain("\n  dlv_1\n");
  });

  test.each([
    ["is archived", "archived", [], 1, ["silence"], /endpoint we_\w+ is archived, so the service/],
    [
      "is silent",
      "active",
      ["--silence=1h"],
      1,
      ["silence"],
      /no delivery was created .* last 1h\./,
    ],
    ["is not silent", "active", ["--silence=4h"], 0, [], /^Deliveries to we_/],
    ["is silent by default", "active", [], 0, [], /^Deliveries to we_/],
  ] as const)("an endpoint that %s", async (_what, status, more, code, problems, text) => {
    const { service, file } = await newService();
    await service.deliver("done");
    if (status === "archived") await service.archive();
    const found = await reconcile(service, file, ...more);
    expect(found).toMatchObject({ code, report: { done: 2, endpoint: { status }, problems } });
    expect((await cli(args(service.url, file, ...more))).stdout).toMatch(text);
  });

  test("quotes the service about missing deliveries to an archived endpoint", async () => {
    const { service, file } = await newService();
    await service.deliver("dropped");
    await service.archive();
    const { stdout } = await cli(args(service.url, file));
    expect(stdout).toMatch(/\nmissing +2 .+ none: the endpoint is archived\n/);
    expect((await cli(args(service.url, file, "--redeliver"))).stdout).toContain(
      "Redelivered: 0 of 2 missing deliveries. Skipped by the service: 2. Its first reason: The endpoint is archived, so nothing is delivered to it.",
    );
  });

  test("an empty list is silence only with --silence, and names --endpoint", async () => {
    const { service, file } = await newService();
    const { code, stdout } = await cli(args(service.url, file));
    expect([code, stdout]).toEqual([0, expect.stringMatching(/no deliveries .* --endpoint\.\n$/)]);
    const found = await reconcile(service, file, "--silence=24d");
    expect(found).toMatchObject({ code: 1, report: { sent: 0, problems: ["silence"] } });
  });

  test("the walk ends at --since", async () => {
    const { service, file } = await newService();
    await service.deliver("dropped");
    await service.advance(hour);
    await service.deliver("done");
    const { code, report } = await reconcile(service, file, "--since=150m");
    expect([code, report]).toMatchObject([0, { sent: 2, reached_since: true, complete: true }]);
    const { stdout } = await cli(args(service.url, file, "--since=150m"));
    expect(stdout).not.toContain("The list ended");
  });

  test("deliveries younger than --grace are not judged", async () => {
    const { service, file } = await newService();
    await service.deliver("dropped");
    const { code, report } = await reconcile(service, file, "--grace=4h");
    expect([code, report]).toMatchObject([0, { young: 2, missing_count: 0 }]);
  });

  test("types without a handler are not judged with --type", async () => {
    const { service, file } = await newService();
    await service.deliver("swallowed");
    const none = await reconcile(service, file, "--type=email.bounced");
    expect(none).toMatchObject({ code: 0, report: { unknown: 2, lost_count: 0 } });
    const { stdout } = await cli(args(service.url, file, "--type=email.bounced"));
    expect(stdout).toMatch(/\nunknown +2 .*without --type: call reconcile\(\) with a map/);
    expect(stdout).toContain("\nNothing was compared.\n");
    const types = ["--type=email.sent", "--type=email.delivered"];
    expect(await reconcile(service, file, ...types)).toMatchObject({ report: { lost_count: 2 } });
  });

  test("records that may expire during the walk are left out, with a note", async () => {
    const { url } = await otherService([[listed("dlv_1", "succeeded", 7 * 24 * hour - hour / 2)]]);
    const { code, stdout, stderr } = await cli(
      args(url, recordsFile(), "--endpoint=we_1", "--since=7d"),
    );
    expect([code, stdout]).toEqual([0, expect.stringMatching(/^Deliveries to we_1 .*: 0, /)]);
    expect(stderr).toMatch(
      /^Deliveries from the first 60 min of --since are not compared: .*--retain/,
    );
    const longer = args(url, recordsFile(), "--endpoint=we_1", "--since=7d", "--retain=30d");
    expect(await cli(longer)).toMatchObject({ code: 1, stderr: "" });
    // With --json, only errors are written to stderr.
    const { error, report } = await reconcile(
      { url },
      recordsFile(),
      "--endpoint=we_1",
      "--since=7d",
    );
    expect(error).toBeUndefined();
    const ms = (field: string) => Date.parse(String(report[field]));
    expect(ms("since") - ms("since_requested")).toBe(hour);
  });
});

describe("the queue of --admin", () => {
  /** Writes a module with a queue whose lists come from `lists`: for each call, jobs by their state. */
  const queueFile = (lists: string) =>
    moduleOf(
      `export const calls = globalThis.sharedWithModules.calls = [];
      const no = async () => {};
      async function* list({ state, ...more }) {
        const lists = ${lists};
        const round = Math.floor(calls.push({ state, ...more }) / 6.1);
        for (const deliveryId of lists[round][state] ?? []) yield { deliveryId };
      }
      export default { stats: no, list, get: no, retry: no, discard: no, release: no };`,
    );
  const items = ["queued", "dead", "late", "ran", "lost"].map((name, at) =>
    listed(`dlv_${name}`, "succeeded", hour + at),
  );

  test("is listed once, and once more if a delivery would be lost", async () => {
    const { url } = await otherService([items]);
    const admin = queueFile(
      `[{ ready: ["dlv_queued"], dead: ["dlv_dead"] }, { active: ["dlv_late"], dead: ["dlv_dead"] }]`,
    );
    let peeks = 0;
    const file = receiverFile({
      // The first call is the check of the store; the walk reads twice.
      peek: async (ids) => {
        peeks += 1;
        return ids.map(({ deliveryId }) =>
          deliveryId === "dlv_ran" && peeks > 3 ? "done" : undefined,
        );
      },
    });
    const more = ["--endpoint=we_1", `--admin=${admin}`];
    const { code, report } = await reconcile({ url }, file, ...more);
    expect([code, report]).toMatchObject([
      1,
      { sent: 5, done: 1, queued: 3, lost_count: 1, lost: ["dlv_lost"], problems: ["lost"] },
    ]);
    const states = ["delayed", "ready", "active", "delayed", "ready", "dead"].map((state) => ({
      state,
    }));
    expect(shared["calls"]).toEqual([...states, ...states]);
  });

  test("is listed only once if no delivery is lost", async () => {
    const { url } = await otherService([items.slice(0, 2)]);
    const admin = queueFile(`[{ delayed: ["dlv_queued"], dead: ["dlv_dead"] }]`);
    const more = ["--endpoint=we_1", `--admin=${admin}`];
    const { code, report } = await reconcile({ url }, recordsFile(), ...more);
    expect([code, report]).toMatchObject([0, { queued: 2, lost_count: 0 }]);
    expect(shared["calls"]).toHaveLength(6);
  });

  test.each([
    ["does not exist", "/no/file", 2, "wrong_usage", /--admin \/no\/file does not exist/],
    [
      "fails",
      `const fail = async () => { throw new Error("ECONNREFUSED"); };
      export default { stats: fail, list: () => ({ [Symbol.asyncIterator]: () => ({ next: fail }) }),
        get: fail, retry: fail, discard: fail, release: fail };`,
      1,
      "inbox_failed",
      /The queue of --admin .* failed: ECONNREFUSED\./,
    ],
  ])("that %s is named before the walk", async (_what, text, code, name, message) => {
    const { url, requests } = await otherService([items]);
    const admin = text.startsWith("/") ? text : moduleOf(text);
    const more = ["--endpoint=we_1", `--admin=${admin}`];
    const { error, ...found } = await reconcile({ url }, recordsFile(), ...more);
    expect(found).toEqual({ code, report: {} });
    expect(error).toMatchObject({ code: name, message: expect.stringMatching(message) as string });
    expect(requests.filter((line) => line.includes("/v1/"))).toEqual([]);
  });

  const silentQueue = (before: string) =>
    moduleOf(
      `const no = async () => {};
      async function* list() { ${before}; await new Promise(() => {}); }
      export default { stats: no, list, get: no, retry: no, discard: no, release: no };`,
    );

  test("may be silent for 30 s after each job", async () => {
    const { signal } = new AbortController();
    const readJobs = await loadJobs(
      silentQueue("await new Promise((resolve) => setTimeout(resolve, 20_000)); yield {}"),
      signal,
    );
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    onTestFinished(() => void vi.useRealTimers());
    let error: unknown;
    void readJobs().catch((reason: unknown) => (error = reason));
    await vi.advanceTimersByTimeAsync(49_999);
    expect(error).toBeUndefined();
    await vi.advanceTimersByTimeAsync(1);
    expect(error).toMatchObject({ code: "inbox_timeout", hint: expect.any(String) as string });
  });

  testPosix("that is silent does not delay Ctrl-C", async () => {
    const { url, requests } = await otherService([items]);
    const admin = silentQueue(`await fetch("${url}/listing")`);
    const started = start(args(url, recordsFile(), "--endpoint=we_1", `--admin=${admin}`));
    await until(() => requests.includes("GET /listing"), "the queue is listed");
    expect(await started.interrupt()).toBe(130);
    expect((await started.ended).stdout).toBe("");
  });
});

describe("the second listing of --admin", () => {
  const items = [listed("dlv_2", "failed", hour), listed("dlv_1", "succeeded", 2 * hour)];
  /** A queue whose second listing does something else. */
  const queueFile = (second: string) =>
    moduleOf(
      `const no = async () => {};
      let calls = 0;
      async function* list() { if ((calls += 1) > 6) { ${second} } }
      export default { stats: no, list, get: no, retry: no, discard: no, release: no };`,
    );
  const report = { complete: true, missing: ["dlv_2"], lost: ["dlv_1"], redelivered: 1 };

  testPosix("does not lose the report by Ctrl-C", async () => {
    const { url, requests } = await otherService([items], () => ({}));
    const admin = queueFile(`await fetch("${url}/listing"); await new Promise(() => {});`);
    const more = ["--endpoint=we_1", `--admin=${admin}`, "--redeliver", "--json"];
    const started = start(args(url, recordsFile(), ...more));
    await until(() => requests.includes("GET /listing"), "the queue is listed again");
    expect(await started.interrupt()).toBe(130);
    expect(JSON.parse((await started.ended).stdout)).toMatchObject(report);
  });

  test("does not lose the report by its error", async () => {
    const { url } = await otherService([items], () => ({}));
    const admin = queueFile(`throw new Error("ECONNREFUSED");`);
    const more = ["--endpoint=we_1", `--admin=${admin}`, "--redeliver"];
    const found = await reconcile({ url }, recordsFile(), ...more);
    expect(found).toMatchObject({ code: 1, error: { code: "inbox_failed" }, report });
  });
});

test.each([
  ["--endpoint=", /--endpoint is empty\. Pass the endpoint's id/],
  ["--type=", /--type is empty, which is not an event type/],
  ["--type=email.*", /--type is email\.\*, which is not an event type.* Pass each type/],
])("%s is refused before the walk", async (option, message) => {
  const { url, requests } = await otherService([[]]);
  const named = option.startsWith("--endpoint") ? [] : ["--endpoint=we_1"];
  const { code, stderr } = await cli(args(url, recordsFile(), ...named, option));
  expect([code, stderr]).toEqual([2, expect.stringMatching(message)]);
  expect(requests).toEqual([]);
});

describe("the endpoint", () => {
  test("must be named if the sandbox has several active ones, and may be archived", async () => {
    const { service, file } = await newService();
    await service.deliver("done");
    const other = await service.addEndpoint();
    const unclear = await reconcile(service, file);
    expect(unclear).toMatchObject({ code: 2, error: { code: "wrong_usage" } });
    expect(unclear.error?.["message"]).toMatch(/--endpoint is missing: .* has 2 active endpoints/);
    const named = await reconcile(service, file, `--endpoint=${service.endpointId}`);
    expect(named).toMatchObject({ code: 0, report: { done: 2 } });
    await service.archive();
    const active = await reconcile(service, file);
    expect(active.report).toMatchObject({ endpoint: { webhook_endpoint_id: other } });
  });

  test("that the sandbox does not know is refused", async () => {
    const { service, file } = await newService();
    const { code, error } = await reconcile(service, file, "--endpoint=we_typo");
    expect([code, error]).toMatchObject([
      1,
      { code: "not_found", hint: expect.stringContaining("service endpoints list") as string },
    ]);
    expect(error?.["message"]).toMatch(/no endpoint with the id we_typo/);
  });

  test("must exist", async () => {
    const { url } = await openSandbox();
    const { code, error } = await reconcile({ url }, recordsFile());
    expect([code, error?.["code"]]).toEqual([1, "not_found"]);
    expect(error?.["hint"]).toMatch(/svc-webhooks service endpoints create/);
  });

  test.each([500, 503, 429])("may be archived if its list responds %i", async (status) => {
    const port = await listen((_request, response) => {
      response.statusCode = status;
      // The client does not wait that long.
      response.setHeader("retry-after", "3600");
      response.end();
    });
    const url = `http://127.0.0.1:${port}`;
    const found = await reconcile({ url }, recordsFile(), "--endpoint=we_1");
    expect(found).toMatchObject({ code: 1, error: { code: `http_${status}` } });
    expect(found.report).toEqual({});
  });

  test("of another service must be named, and only its id is known", async () => {
    const { url } = await otherService([[listed("dlv_1", "succeeded", hour)]]);
    const file = recordsFile({ dlv_1: "done" });
    const { code, error } = await reconcile({ url }, file);
    expect([code, error?.["message"]]).toEqual([2, expect.stringMatching(/--endpoint is missing/)]);
    expect(await reconcile({ url }, file, "--endpoint=we_1")).toMatchObject({
      code: 0,
      report: { endpoint: { webhook_endpoint_id: "we_1" }, done: 1, problems: [] },
    });
  });
});

describe("a walk that cannot continue", () => {
  const first = [listed("dlv_3", "failed", hour), listed("dlv_2", "succeeded", 2 * hour)];

  test("reports what it has compared, and the error of the service with its fix", async () => {
    const { url } = await otherService([first, 401], () => ({}));
    const found = await reconcile({ url }, recordsFile(), "--endpoint=we_1", "--redeliver");
    expect(found).toMatchObject({
      code: 1,
      error: {
        code: "authentication_required",
        hint: expect.stringContaining("API key") as string,
      },
      report: {
        complete: false,
        sent: 2,
        missing: ["dlv_3"],
        lost: ["dlv_2"],
        redelivered: 1,
        problems: ["missing", "lost"],
      },
    });
    const { stdout } = await cli(args(url, recordsFile(), "--endpoint=we_1"));
    expect(stdout).toContain("Incomplete: the older deliveries were not compared.");
  });

  test("reports no silence if the list broke before its first delivery", async () => {
    const { url } = await otherService([401]);
    const found = await reconcile({ url }, recordsFile(), "--endpoint=we_1", "--silence=1h");
    expect(found).toMatchObject({ code: 1, report: { complete: false, sent: 0, problems: [] } });
  });

  test("reports no delivery as lost whose record may have expired during the walk", async () => {
    const { url } = await otherService([first]);
    const { signal } = new AbortController();
    const walked = await walk({
      client: createClient({ apiKey: "svc_test", baseUrl: url }),
      records: { peek: async (ids) => ids.map(() => undefined) },
      readJobs: undefined,
      webhook_endpoint_id: "we_1",
      since: new Date(now - 24 * hour),
      untilMs: Date.now() - 1,
      graceMs: 0,
      types: [],
      maxRedeliver: undefined,
      progress: { update: () => {}, clear: () => {} },
      signal,
    });
    expect(walked).toMatchObject({ isComplete: false, error: { code: "too_slow" } });
    expect(walked.report).toMatchObject({ sent: 0, lost: [] });
  });

  testPosix("after Ctrl-C, prints what it has compared", async () => {
    const { url, requests } = await otherService([first, "none"]);
    const started = start(args(url, recordsFile(), "--endpoint=we_1", "--json"));
    await until(() => requests.some((line) => line.includes("after=1")), "the second page is read");
    expect(await started.interrupt()).toBe(130);
    const { stdout, stderr } = await started.ended;
    expect(JSON.parse(stdout)).toMatchObject({ complete: false, sent: 2, missing: ["dlv_3"] });
    expect(stderr.replace(/^Stopping\..*\n/, "")).toBe("");
  });

  testPosix("after Ctrl-C in a call of the store, reports the calls before it", async () => {
    const many = Array.from({ length: 1_050 }, (_, at) => listed(`dlv_${at}`, "failed", hour + at));
    const { url, requests } = await otherService([many], () => ({}));
    const file = moduleOf(
      `let calls = 0;
      export default { async peek(ids) {
        if ((calls += 1) > 2) {
          await fetch("${url}/peeking");
          await new Promise(() => {});
        }
        return ids.map((one) => (one.deliveryId === "dlv_0" ? undefined : "running"));
      } };`,
    );
    const started = start(args(url, file, "--endpoint=we_1", "--redeliver", "--json"));
    await until(() => requests.includes("GET /peeking"), "the second thousand is read");
    expect(await started.interrupt()).toBe(130);
    expect(JSON.parse((await started.ended).stdout)).toMatchObject({
      complete: false,
      sent: 1_000,
      running: 999,
      missing: ["dlv_0"],
      redelivered: 1,
      oldest_sent_at: many[999]?.created_at,
    });
  });

  test("reports the error that ended the redelivery, after the whole report", async () => {
    const { url, requests } = await otherService([first], () => 403);
    const more = ["--endpoint=we_1", "--redeliver"];
    const found = await reconcile({ url }, recordsFile(), ...more);
    expect(found).toMatchObject({
      code: 1,
      error: { code: expect.any(String) as string },
      report: { complete: true, missing_count: 1, lost_count: 1, redelivered: 0 },
    });
    expect(requests.filter((line) => line.startsWith("POST"))).toHaveLength(1);
  });

  test("counts what the service refuses, which is no error", async () => {
    const items = [...first, listed("dlv_1", "failed", 3 * hour)];
    const { url } = await otherService([items], (id) => (id === "evt_dlv_3" ? 409 : 404));
    const { code, error, report } = await reconcile(
      { url },
      recordsFile(),
      "--endpoint=we_1",
      "--redeliver",
    );
    expect([code, error, report]).toMatchObject([1, undefined, { skipped: 1, refused: 1 }]);
    const { stdout } = await cli(args(url, recordsFile(), "--endpoint=we_1", "--redeliver"));
    expect(stdout).toMatch(
      /Redelivered: 0 of 2 missing deliveries\. Skipped by the service: 1\. Its first reason: \S.+ Refused by the service: 1\. Its first reason: \S/,
    );
  });

  test.each(["\ud800", undefined])("counts the event id %j, which is not requested", async (id) => {
    const items = [listed("dlv_0", "failed", hour / 2, { event_id: id }), ...first];
    const { url } = await otherService([items], () => 404);
    const more = ["--endpoint=we_1", "--redeliver"];
    const { code, error, report } = await reconcile({ url }, recordsFile(), ...more);
    expect([code, error, report]).toMatchObject([1, undefined, { refused: 2, redelivered: 0 }]);
    const { stdout } = await cli(args(url, recordsFile(), ...more));
    expect(stdout).toContain("Not requested, because they have no usable event_id: 1.");
  });

  test("reports the redeliveries before an error of the store", async () => {
    const many = Array.from({ length: 1_001 }, (_, at) => listed(`dlv_${at}`, "failed", hour + at));
    const { url } = await otherService([many], () => ({}));
    const file = moduleOf(
      `let calls = 0;
      export default { async peek(ids) {
        if ((calls += 1) > 2) throw new Error("connection reset");
        return ids.map((one) => (one.deliveryId === "dlv_0" ? undefined : "done"));
      } };`,
    );
    const found = await reconcile({ url }, file, "--endpoint=we_1", "--redeliver");
    expect(found).toMatchObject({ code: 1, error: { code: "store_failed" }, report: {} });
    expect(found.error?.["message"]).toMatch(
      /failed: connection reset\. Missing deliveries that were redelivered before that: 1\./,
    );
  });

  test.each([
    ["unreadable_list", [{ delivery_id: "dlv_1" }], /without an id, a status or a time/],
    [
      "unreadable_list",
      // The progress is updated by the hundredth.
      Array.from({ length: 100 }, (_, at) =>
        listed(`dlv_${at}`, "failed", hour, at === 99 ? { created_at: { toString: 1 } } : {}),
      ),
      /without an id, a status or a time/,
    ],
    ["not_newest_first", first.toReversed(), /not sorted newest first/],
    [
      "clock_behind",
      [listed("dlv_0", "failed", -25 * hour)],
      /more than a day ahead of this machine/,
    ],
  ])("reports %s with a fix for operators", async (code, items, message) => {
    const { url } = await otherService([items]);
    const found = await reconcile({ url }, recordsFile(), "--endpoint=we_1");
    expect(found).toMatchObject({
      code: 1,
      error: { code, hint: expect.stringContaining("svc-webhooks/reconcile with ") as string },
    });
    expect(found.error?.["message"]).toMatch(message);
  });
});

describe("the module of --receiver", () => {
  const receiver = (options: string) =>
    `import { createReceiver, memoryStore } from ${coreModule};
    export default createReceiver({ name: "test", secret: () => "", on: { "*": () => {} }, ${options} });`;

  test.each<[string, string, number, string, RegExp]>([
    ["does not exist", "", 2, "wrong_usage", /does not exist\. .*export default receiver;/],
    ["throws", `throw new Error("no database");`, 1, "receiver_failed", /imported: no database\./],
    [
      "exports another value",
      "export default 5;",
      2,
      "wrong_usage",
      /exports no receiver.*Write: /,
    ],
    [
      "exports its store",
      `import { memoryStore } from ${coreModule};
      export default memoryStore();`,
      2,
      "wrong_usage",
      /exports no receiver/,
    ],
    [
      "has a store that fails",
      `export default { peek: async () => { throw new Error("ECONNREFUSED."); } };`,
      1,
      "store_failed",
      /failed: ECONNREFUSED\. Check that its server runs/,
    ],
    [
      "has a store without peek",
      receiver("store: { ...memoryStore(), peek: undefined }"),
      2,
      "invalid_option",
      /`store\.peek` is undefined\. Update the store/,
    ],
    [
      "needs bodies",
      receiver(`dedupeBy: "body"`),
      1,
      "missing_body",
      /service does not list bodies\. Use dedupeBy: "delivery"/,
    ],
  ])("that %s is named before the walk", async (_what, text, code, name, message) => {
    const { url, requests } = await otherService([[]]);
    const file = text === "" ? newFile() : moduleOf(text);
    const found = await reconcile({ url }, file, "--endpoint=we_1");
    expect(found).toMatchObject({ code, error: { code: name }, report: {} });
    const { message: text1, hint = "" } = found.error ?? {};
    expect(`${String(text1)} ${String(hint)}`).toMatch(message);
    expect(requests).toEqual([]);
  });

  test.each(["default", "receiver"])("may export the receiver as %s", async (name) => {
    const file = receiverFile({ peek: async (ids) => ids.map(() => "done" as const) }, name);
    const { url } = await otherService([[listed("dlv_1", "succeeded", hour)]]);
    expect(await reconcile({ url }, file, "--endpoint=we_1")).toMatchObject({
      report: { done: 1 },
    });
  });

  test("may be a CommonJS module with a default export", async () => {
    const file = newFile("receiver.cjs");
    writeFileSync(file, "exports.default = { peek: async (ids) => ids.map(() => 'done') };");
    const { url } = await otherService([[listed("dlv_1", "succeeded", hour)]]);
    // Vitest would import such a module differently than Node does.
    const { ended } = start(args(url, file, "--endpoint=we_1", "--json"));
    expect(JSON.parse((await ended).stdout)).toMatchObject({ done: 1 });
  });

  describe("may have a client that is still connecting, for up to 10 s", () => {
    /** Loads a receiver whose calls fail until the clock shows `readyMs`. */
    async function load(code: string, readyMs: number) {
      let nowMs = 0;
      let calls = 0;
      const peek: Receiver["peek"] = async (ids) => {
        calls += 1;
        if (nowMs >= readyMs) return ids.map(() => undefined);
        throw new WebhookError(code as never, "store.peek took longer than 1 ms");
      };
      const time = { now: () => nowMs, pause: async () => (nowMs += 2_500) };
      const { signal } = new AbortController();
      const records = await loadRecords(receiverFile({ peek }), signal, time);
      return { records, fail: () => (readyMs = Infinity), calls: () => calls };
    }

    test.each(["not_sent", "store_timeout"])("with the code %s", async (code) => {
      const { records, fail, calls } = await load(code, 10_000);
      expect(calls()).toBe(5);
      fail();
      await expect(records.peek([{ deliveryId: "dlv_1" }])).rejects.toMatchObject({
        code: code === "not_sent" ? "store_failed" : code,
      });
      // A timeout during the walk is not repeated.
      expect(calls()).toBe(code === "not_sent" ? 10 : 6);
    });

    test.each([
      ["not_sent", "store_failed"],
      ["store_timeout", "store_timeout"],
    ])("and fails after that with the code %s", async (code, expected) => {
      await expect(load(code, 10_001)).rejects.toMatchObject({
        code: expected,
        message: expect.stringContaining("store.peek took longer than 1 ms") as string,
      });
    });
  });

  test.each([
    ["--receiver", "receiver_failed"],
    ["--admin", "admin_failed"],
  ])("and that of %s are imported within 30 s", async (flag, code) => {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    onTestFinished(() => void vi.useRealTimers());
    const { signal } = new AbortController();
    const file = moduleOf("await new Promise(() => {});");
    const loaded = loadModule(flag, file, code, "", signal).catch((error: unknown) => error);
    await vi.advanceTimersByTimeAsync(30_000);
    expect(await loaded).toMatchObject({ code, hint: expect.any(String) as string });
  });

  testPosix("whose import hangs ends by Ctrl-C", async () => {
    const { url, requests } = await otherService([]);
    const file = moduleOf(`await fetch("${url}/import"); await new Promise(() => {});`);
    const started = start(args(url, file, "--endpoint=we_1"));
    await until(() => requests.includes("GET /import"), "the module is imported");
    expect(await started.interrupt()).toBe(130);
  });

  test("whose store has nothing left to do keeps the command running until its deadline", async () => {
    const file = moduleOf(
      `const late = (reject) => setTimeout(() => reject(new Error("late")), 200).unref();
      export default { peek: () => new Promise((_, reject) => late(reject)) };`,
    );
    const { ended } = start(args("http://127.0.0.1:9", file, "--endpoint=we_1"));
    expect(await ended).toMatchObject({
      code: 1,
      stdout: "",
      stderr: expect.stringContaining("failed: late.") as string,
    });
  });

  test("may log to stdout, which has the report only", async () => {
    const { url } = await otherService([[listed("dlv_1", "succeeded", hour)]]);
    const file = moduleOf(
      `console.log("imported");
      export default { peek: async (ids) => (console.info("read"), ids.map(() => "done")) };`,
    );
    const { stdout, stderr } = await start(args(url, file, "--endpoint=we_1", "--json")).ended;
    expect(JSON.parse(stdout)).toMatchObject({ done: 1 });
    expect(stderr).toBe("imported\nread\nread\n");
  });
});

describe("wrong usage of reconcile", () => {
  test.each([
    [["--since=8d"], /--since 8d is longer than records are kept \(--retain 7d\).*Shorten --since/],
    [["--since=1w"], /--since is 1w, which is not a duration from 1s to 365d/],
    [["--retain=366d"], /--retain is 366d/],
    [["--grace=15"], /--grace is 15, which is not a duration from 1s to 24d/],
    [["--since=10m"], /--grace 15m is not shorter than the compared period.*Raise --since/],
    [["--silence=never"], /--silence is never/],
    [["--max-redeliver=5"], /--max-redeliver has no effect without --redeliver\. Add --redeliver/],
    [["--redeliver", "--max-redeliver=0"], /--max-redeliver must be a whole number from 1/],
  ])("%j", async (more, message) => {
    const { code, stdout, stderr } = await cli(args("http://127.0.0.1:9", recordsFile(), ...more));
    expect([code, stdout]).toEqual([2, ""]);
    expect(stderr).toMatch(message);
  });
});

testInTerminal("reconcile shows its progress in one line of a terminal", async () => {
  const page = (from: number) =>
    Array.from({ length: 100 }, (_, at) =>
      listed(`dlv_${at + from}`, "succeeded", (from + at + 1) * hour),
    );
  const { url } = await otherService([page(0), page(100).slice(0, 43)]);
  const file = moduleOf(`export const receiver = { peek: async (ids) => ids.map(() => "done") };`);
  const words = args(url, file, "--endpoint=we_1", "--since=200h", "--retain=30d");
  const { code, output } = await inTerminal(shell(...words));
  expect(code).toBe(0);
  const lines = output.split("\r\u001b[K");
  expect(lines).toHaveLength(3);
  expect(lines[1]).toMatch(/^\[#{15}-{15}\] 50 % {2}100 deliveries since .*Z$/);
  expect(lines[2]).toMatch(/^Deliveries to we_1 since .*: 143, /);
});

test("the progress has no control characters of the service", () => {
  let output = "";
  const stderr = { isTTY: true, write: (text: string) => (output += text) };
  createProgress({ stderr, json: false }).update(0.5, "since \u001b]0;title\u0007\u202e");
  expect(output).toBe(`\r\u001b[K[${"#".repeat(15)}${"-".repeat(15)}] 50 %  since `);
});
