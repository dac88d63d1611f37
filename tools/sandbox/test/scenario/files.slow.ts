import { execFileSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { join } from "node:path";
import { testPosix } from "@svc-webhooks/kit/systems";
import { describe, expect, test } from "vitest";
import { outsideDirectory, root, run as runProgram } from "@svc-webhooks/kit/programs";
import { createSandbox, runScenario } from "@svc-webhooks/sandbox";
import { email, newFile, receiver } from "../support.js";
import { newSecret, oldSecret } from "./receivers.js";

const main = join(root, "tools/sandbox/dist/main.js");

const scenario = (...steps: readonly unknown[]) => ({ version: 1, name: "test", steps });

const register = {
  request: {
    method: "POST",
    path: "/v1/webhook-endpoints",
    body: { url: "{receiver}", event_types: ["email.sent"] },
  },
  capture: { endpoint: "webhook_endpoint.webhook_endpoint_id" },
};
const send = { request: { method: "POST", path: "/v1/emails", body: email } };
const get = { request: { method: "GET", path: "/v1/webhook-events" } };
const nested = (depth: number): unknown => (depth === 0 ? 0 : [nested(depth - 1)]);

const wrong: Readonly<Record<string, readonly [unknown, string | RegExp]>> = {
  "not an object": [[], "The file must be an object."],
  "another version": [{ ...scenario(get), version: 2 }, "version must be 1."],
  "no name": [{ version: 1, steps: [get] }, "name is required."],
  "a member that does not exist": [
    { ...scenario(get), step: [] },
    /^The file must not have the member step\. The members are version, name/,
  ],
  "an assumption that does not exist": [
    { ...scenario(get), assumptions: { "A-99": "x" } },
    /^There is no assumption A-99\./,
  ],
  "no steps": [scenario(), "steps needs at least one step."],
  "too many steps": [
    scenario(...Array.from({ length: 1_001 }, () => get)),
    "steps must have at most 1000 steps.",
  ],
  "an unknown step": [
    scenario(get, { wait: "1h" }),
    "steps[1] is not a step: its members are wait. Give it the member request, action, find, advance or expect.",
  ],
  "a step that is not an object": [scenario(7), /^steps\[0\] is not a step: it has no members\./],
  "a method that does not exist": [
    scenario({ request: { method: "PUT", path: "/v1/emails" } }),
    "steps[0].request.method must be GET or POST or DELETE.",
  ],
  "a path of another server": [
    scenario({ request: { method: "GET", path: "http://example.test/" } }),
    "steps[0].request.path must begin with /v1/.",
  ],
  "a header, which could hold a key": [
    scenario({ request: { method: "GET", path: "/v1/x", headers: { authorization: "k" } } }),
    /^steps\[0\]\.request must not have the member headers/,
  ],
  "an action that does not exist": [
    scenario({ action: "explode" }),
    /^steps\[0\]\.action must be run-now or skip or /,
  ],
  "an action that would remove the run": [
    scenario({ action: "reset" }),
    /^steps\[0\]\.action must be /,
  ],
  "a duration without a unit": [
    scenario({ advance: "90" }),
    /^steps\[0\]\.advance must be "next", or a number followed by ms, s, m, h or d/,
  ],
  "an expectation that cannot fail": [
    scenario({ expect: { deliveries: { state: "failed" } } }),
    "steps[0].expect.deliveries needs count, at_least or at_most.",
  ],
  "two expectations in one step": [
    scenario({ expect: { deliveries: { count: 1 }, attempts: { count: 1 } } }),
    "steps[0].expect needs either deliveries or attempts.",
  ],
  "a reference that nothing captures": [
    scenario(get, { expect: { deliveries: { endpoint: "{endpoint}", count: 1 } } }),
    "steps[1] refers to {endpoint}, which no earlier step captures. Capture it first, or write {{ for a brace.",
  ],
  "a capture under the receiver's name": [
    scenario({ ...get, capture: { receiver: "data" } }),
    "steps[0].capture cannot use the name receiver. Choose another name.",
  ],
  "a capture of many requests": [
    scenario({ ...get, times: 2, capture: { one: "data" } }),
    "steps[0].capture needs a request that is sent once. Remove `times`.",
  ],
  "too many requests": [
    scenario({ ...get, times: 1_000 }, { ...get, times: 1_000 }, { ...get, times: 1 }),
    "steps[2].times is too large: the scenario has more than 2000 requests. Use fewer.",
  ],
  "a body that is nested too deeply": [
    scenario({ request: { method: "POST", path: "/v1/emails", body: nested(5_000) } }),
    "The file is nested more than 60 levels deep. Use flatter bodies.",
  ],
  "a scenario that needs a receiver": [
    scenario(register),
    "The scenario needs the URL of your receiver. Add --to URL.",
  ],
};

describe("a wrong scenario is refused with its path and the fix", () => {
  test.each(Object.entries(wrong))("%s", async (_what, [given, message]) => {
    const running = runScenario(given);
    await expect(running).rejects.toMatchObject({
      code: "wrong_usage",
      message: typeof message === "string" ? message : expect.stringMatching(message),
    });
  });
});

test("refuses options that do not fit the scenario", async () => {
  const rotated = scenario(register, {
    request: { method: "POST", path: "/v1/webhook-endpoints/{endpoint}:rotate-secret" },
  });
  const to = "http://127.0.0.1:9/";
  await expect(runScenario(rotated, { to, secrets: [oldSecret] })).rejects.toThrow(
    "The scenario rotates the secret once, so it needs 2 secrets, all of which the receiver must accept. Repeat --secret-env NAME.",
  );
  const [, rotate] = rotated.steps as [unknown, { request: { path: string } }];
  const again = ["?from=test", "#x", "?from=test#x"].map((end) => [
    rotate,
    { request: { method: "POST", path: rotate.request.path + end } },
  ]);
  for (const steps of [[{ ...rotate, times: 2 }], ...again])
    await expect(
      runScenario(scenario(register, ...steps), { to, secrets: [oldSecret, newSecret] }),
    ).rejects.toThrow("The scenario rotates the secret 2 times, so it needs 3 secrets");
  await expect(runScenario(rotated, { to: "localhost:3000" })).rejects.toThrow(
    "(--to) must be an http: or https: URL",
  );
  await expect(runScenario(rotated, { to: "https://example.com/" })).rejects.toThrow(
    "`to` (--to) cannot be the URL of an endpoint. Use a loopback address",
  );
  await expect(runScenario(rotated, { to, secrets: ["secret"] })).rejects.toMatchObject({
    code: "invalid_option",
  });
  // @ts-expect-error There is no such option.
  await expect(runScenario(rotated, { url: to })).rejects.toMatchObject({ code: "unknown_option" });
});

describe("a run", () => {
  test("ends at its time limit on the clock, and states what it found", async () => {
    const { url, got } = await receiver(500);
    const report = await runScenario(
      scenario(register, send, {
        expect: { deliveries: { state: "succeeded", count: 1 } },
        within: "3650d",
      }),
      { to: url },
    );
    expect(got).toHaveLength(5);
    expect(report).toEqual({
      scenario: "test",
      met: false,
      steps: 3,
      ran: 3,
      results: [
        { step: 1, expected: "POST /v1/webhook-endpoints responds with 2xx", met: true },
        { step: 2, expected: "POST /v1/emails responds with 2xx", met: true },
        {
          step: 3,
          expected: "deliveries with state succeeded: exactly 1, within 3650d",
          met: false,
          found: "0 (1 × failed); the receiver's failures: (5 × status 500)",
        },
      ],
    });
  });

  test("stops waiting at the limit, before what is due later", async () => {
    const { url, got } = await receiver(500);
    const wait = { expect: { deliveries: { state: "failed", count: 1 } }, within: "20s" };
    const { met, results } = await runScenario(scenario(register, send, wait), { to: url });
    expect([met, got.length]).toEqual([false, 3]);
    expect(results.at(-1)?.found).toMatch(/^0 \(1 × pending\)/);
  });

  test("moves the clock for a request that a fault delays, and sees one that is lost", async () => {
    const fault = (kind: string) => ({
      action: "add-fault",
      body: { target: "POST /v1/emails", kind, ...(kind === "slow" ? { delay_ms: 600_000 } : {}) },
    });
    const report = await runScenario(
      scenario(
        fault("slow"),
        { ...send, status: 202 },
        fault("timeout"),
        { ...send, status: "lost" },
        fault("reset"),
        send,
      ),
    );
    expect(report.results.map(({ met, found }) => found ?? met)).toEqual([true, true, "1 × lost"]);
  });

  test("ends at a step whose result the next steps need, and masks ids in the report", async () => {
    const missing = { find: { number: 1 }, capture: { delivery: "id" } };
    const found = await runScenario(
      scenario(missing, { action: "skip", params: { id: "{delivery}" } }),
    );
    expect([found.met, found.ran, found.results]).toEqual([
      false,
      1,
      [{ step: 1, expected: "delivery number 1", met: false, found: "0 deliveries" }],
    ]);
    const { url } = await receiver();
    const report = await runScenario(
      scenario(
        register,
        { request: { method: "GET", path: "/v1/sends/{endpoint}" }, status: 404 },
        send,
        { find: { number: 1 }, capture: { event: "event_id" } },
        {
          request: { method: "GET", path: "/v1/webhook-events" },
          expect: {
            "data.0.event_id": "{event}",
            "data.0.subscription_id": "x",
            "data.0.webhook_endpoint_id": "y",
          },
        },
        {
          request: { method: "POST", path: "/v1/webhook-events/{event}:redeliver" },
          expect: { event_id: "none" },
        },
      ),
      { to: url },
    );
    expect(report.results.slice(3)).toEqual([
      { step: 5, expected: "GET /v1/webhook-events responds with 2xx", met: true },
      {
        step: 5,
        expected: 'GET /v1/webhook-events: data.0.event_id is "{event}"',
        met: true,
      },
      {
        step: 5,
        expected: 'GET /v1/webhook-events: data.0.subscription_id is "x"',
        met: false,
        found: '"sub_…"',
      },
      {
        step: 5,
        expected: 'GET /v1/webhook-events: data.0.webhook_endpoint_id is "y"',
        met: false,
        found: '"{endpoint}"',
      },
      {
        step: 6,
        expected: "POST /v1/webhook-events/{event}:redeliver responds with 2xx",
        met: false,
        found:
          "1 × 409 (Only failed deliveries can be redelivered (A-17), but the last attempt succeeded.)",
      },
      {
        step: 6,
        expected: 'POST /v1/webhook-events/{event}:redeliver: event_id is "none"',
        met: false,
        found: "nothing",
      },
    ]);
  });

  test("ends when its signal is aborted, although the receiver hangs", async () => {
    const stop = new AbortController();
    const { url } = await receiver(() => stop.abort(new Error("stopped")));
    const steps = scenario(register, send, { advance: "1d" }, { advance: "1d" });
    await expect(runScenario(steps, { to: url, signal: stop.signal })).rejects.toThrow("stopped");
  });

  test("refuses a data file with other data, and keeps its own", async () => {
    const data = newFile();
    const { url } = await receiver();
    const steps = scenario(register, send, { expect: { deliveries: { count: 1 } } });
    expect((await runScenario(steps, { to: url, data })).met).toBe(true);
    expect((await runScenario(steps, { to: url, data })).met).toBe(true);
    const other = newFile();
    const first = createSandbox({ data: other, clock: "real", log: () => {} });
    await first.fetch(new Request("http://sandbox.test/v1/webhook-event-types"));
    await first.close();
    await expect(runScenario(steps, { to: url, data: other })).rejects.toThrow(
      /has data that a scenario would remove\. Use a new file/,
    );
    const changed = newFile();
    const third = createSandbox({ data: changed, log: () => {} });
    await third.fetch(
      new Request("http://sandbox.test/_sandbox/assumptions/A-09", {
        method: "POST",
        body: JSON.stringify({ value: "none" }),
        headers: { "content-type": "application/json" },
      }),
    );
    await third.close();
    await expect(runScenario(steps, { to: url, data: changed })).rejects.toThrow(
      /has data that a scenario would remove/,
    );
    const second = createSandbox({ data: other, log: () => {} });
    expect(second.clock.mode).toBe("real");
    await second.close();
  });
});

describe("the command", () => {
  const folder = outsideDirectory();
  const file = (content: string, name = "scenario.json") => {
    const path = join(folder, name);
    writeFileSync(path, content);
    return path;
  };
  const execute = (args: readonly string[], env = {}) =>
    runProgram(process.execPath, [main, ...args], { cwd: folder, env });

  test("exits with 0 and a report if all expectations are met, with JSON on request", async () => {
    const path = file(JSON.stringify(scenario(get)));
    const text = await execute(["--scenario", path]);
    expect([text.exitCode, text.stdout, text.stderr]).toEqual([
      0,
      "met     step 1: GET /v1/webhook-events responds with 2xx\ntest: all expectations were met (1).\n",
      "",
    ]);
    const { exitCode, stdout } = await execute(["--scenario", path, "--json"]);
    expect([exitCode, JSON.parse(stdout)]).toMatchObject([
      0,
      { scenario: "test", met: true, ran: 1 },
    ]);
  });

  test("exits with 1 if an expectation is not met", async () => {
    const path = file(JSON.stringify(scenario({ ...get, status: 418 }, { advance: "1h" })));
    const { exitCode, stdout } = await execute(["--scenario", path]);
    expect([exitCode, stdout]).toEqual([
      1,
      "NOT MET step 1: GET /v1/webhook-events responds with 418\n        found: 1 × 200\nThe scenario ended after step 1 of 2, because later steps depend on it.\ntest: 1 of 1 expectations were not met.\n",
    ]);
  });

  test("runs a scenario of the package with the secrets of the environment", async () => {
    const server = createServer((_request, response) => void response.end());
    await new Promise<void>((resolve) => void server.listen(0, "127.0.0.1", resolve));
    const address = server.address();
    const to = `http://127.0.0.1:${typeof address === "object" ? address?.port : ""}/`;
    const { exitCode, stdout } = await execute(
      ["--scenario=rotation-under-load", `--to=${to}`, "--secret-env=FIRST", "--secret-env=SECOND"],
      { FIRST: oldSecret, SECOND: newSecret },
    );
    server.close();
    server.closeAllConnections();
    expect([exitCode, stdout]).toEqual([
      0,
      expect.stringMatching(/all expectations were met \(10\)\.\n$/),
    ]);
  });

  test.each<readonly [string, readonly string[], RegExp]>([
    [
      "a name that does not exist",
      ["--scenario=rotation"],
      /The package contains archived-in-the-middle, receiver-down-for-a-day, /,
    ],
    ["a file that does not exist", ["--scenario=./none.json"], /\.\/none\.json does not exist\./],
    ["a folder", ["--scenario=/tmp"], /is not a regular file\./],
    [
      "an option of the server",
      ["--scenario=slow-receiver", "--clock=real"],
      /--clock cannot be used with --scenario\./,
    ],
    ["no receiver", ["--scenario=slow-receiver"], /Add --to URL\./],
    [
      "a secret that is not set",
      ["--scenario=slow-receiver", "--secret-env=SVC_NONE"],
      /SVC_NONE is not set\./,
    ],
    ["a receiver without a scenario", ["--to=http://localhost:1/"], /--to needs --scenario FILE\./],
  ])("exits with 2 for %s", async (_what, args, text) => {
    const { exitCode, stdout, stderr } = await execute(args);
    expect([exitCode, stdout]).toEqual([2, ""]);
    expect(stderr).toMatch(text);
  });

  testPosix("exits with 2 for a file that is not JSON, too large, or a pipe", async () => {
    const broken = await execute(["--scenario", file('{"version": 1,')]);
    expect([broken.exitCode, broken.stderr]).toEqual([
      2,
      expect.stringMatching(/is not valid JSON: /),
    ]);
    const large = await execute(["--scenario", file(" ".repeat(1_048_577))]);
    expect([large.exitCode, large.stderr]).toEqual([2, expect.stringMatching(/larger than 1 MiB/)]);
    const pipe = join(folder, "pipe.json");
    execFileSync("mkfifo", [pipe]);
    const piped = await execute(["--scenario", pipe]);
    expect([piped.exitCode, piped.stderr]).toEqual([
      2,
      expect.stringMatching(/not a regular file/),
    ]);
  });

  test("shows control characters of the file as replacement characters", async () => {
    const path = file(JSON.stringify(scenario({ ...get, expect: { "\u001b[31m": 1 } })));
    const { stdout } = await execute(["--scenario", path]);
    expect(stdout).toContain("\uFFFD[31m is 1");
    expect(stdout).not.toContain("\u001b");
  });
});
