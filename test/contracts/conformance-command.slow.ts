import { Readable } from "node:stream";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { root, run as runProgram } from "@svc-webhooks/kit/programs";
import { eachNth } from "@svc-webhooks/kit/sized";
import { vectorFiles } from "@svc-webhooks/kit/vectors";
import { freePort } from "@svc-webhooks/kit/free-port";
import type { ConformanceResult } from "@svc-webhooks/testing/conformance";
import { receiverContract } from "@svc-webhooks/testing/receiver";
import { describePosix } from "@svc-webhooks/kit/systems";
import { expect, test } from "vitest";
import { run } from "../../tools/cli/src/run.js";
import { planted } from "./bad-receivers.js";
import { casesOf } from "./contract-cases.js";
import { goodReceiver, whileServing, type HandWrittenReceiver } from "./good-receiver.js";
import { servePython, serveShell } from "./languages/serve.js";

const secret = "whsec_test";

interface Report {
  readonly conforms: boolean;
  readonly results: readonly ConformanceResult[];
}

/** Runs the command, with the port of the receiver's handler. */
async function conformance(
  url: string,
  handlerPort: number,
): Promise<Report & { readonly code: number; readonly failed: readonly string[] }> {
  let stdout = "";
  const code = await run(
    [
      "conformance",
      url,
      "--secret-env=SECRET",
      "--timeout=20",
      "--json",
      `--handler-port=${handlerPort}`,
    ],
    {
      env: { SECRET: secret },
      stdin: Readable.from([]),
      stdout: { write: (text) => (stdout += text) },
      stderr: { write: () => {} },
      signal: new AbortController().signal,
    },
  );
  const report = JSON.parse(stdout) as Report;
  const failed = report.results.filter(({ status }) => status === "failed");
  return { ...report, code, failed: failed.map(({ title }) => title) };
}

/** Posts an event to the command, as the handler of any receiver would. */
const posting = (port: number) => async (event: unknown) => {
  const response = await fetch(`http://127.0.0.1:${port}/`, {
    method: "POST",
    body: JSON.stringify(event),
  });
  if (!response.ok) throw new Error(await response.text());
};

async function conformanceOf(receiver: HandWrittenReceiver) {
  const port = await freePort();
  return whileServing(receiver, posting(port), (url) => conformance(url, port));
}

const titles = casesOf((runner) => receiverContract(runner, "x", () => "")).map(
  ({ title }) => title,
);

test("a receiver without a mistake passes every case of the kit, in its order", async () => {
  const { code, results } = await conformanceOf(goodReceiver);
  expect(results.map(({ title, status }) => [title, status])).toEqual(
    titles.map((title) => [title, "passed"]),
  );
  expect(code).toBe(0);
});

const [refusing, ...others] = planted;
// The kit's own tests plant every mistake. Each one costs the command a whole contract.
const some = eachNth(others, 36);

test("a receiver that refuses genuine deliveries fails the first case, and no other case is run", async () => {
  const { code, failed, results } = await conformanceOf(refusing?.[2]() ?? goodReceiver);
  expect([code, failed]).toEqual([1, [refusing?.[0]]]);
  expect(new Set(results.slice(1).map(({ status }) => status))).toEqual(
    new Set(["not_applicable"]),
  );
});

test.concurrent.each(some)(
  "a planted mistake fails the same case as in the kit: %s %s",
  async (title, _mistake, make) => {
    const { code, failed, results } = await conformanceOf(make());
    expect(failed).toEqual([title]);
    const { level } = results.find((one) => one.title === title) ?? {};
    expect(code).toBe(level === "must" ? 1 : 0);
  },
);

const languages = [
  [
    "Python",
    servePython,
    "receiver.py",
    "wrong_receiver.py",
    [
      "verifies spaces, line endings, escapes, numbers and duplicate keys as they were sent",
      "verifies a byte order mark as part of the body, then accepts the body or refuses it like invalid JSON",
      "refuses a body that was changed or truncated",
      "refuses a body that was parsed and serialized again",
    ],
  ],
  [
    "shell",
    serveShell,
    "receiver.sh",
    "wrong-receiver.sh",
    [
      "refuses a delivery without a signature, whatever its other headers",
      "refuses a delivery without a signature, whatever it lacks or who seems to send it",
      "runs a failed handler again on the next attempt",
      "does not run the handler after refusing a delivery",
    ],
  ],
] as const;

/** Serves a receiver in another language, and examines it. */
async function examined(serve: typeof servePython, program: string) {
  const port = await freePort();
  const url = await serve(program, {
    SVC_WEBHOOK_SECRET: secret,
    HANDLER_URL: `http://127.0.0.1:${port}/`,
  });
  return conformance(url, port);
}

describePosix.each(languages)("in %s", (_language, serve, right) => {
  test("a correct receiver passes every case", async () => {
    const { code, results } = await examined(serve, right);
    expect(results.filter(({ status }) => status !== "passed")).toEqual([]);
    expect(code).toBe(0);
  });
});

// The receiver in shell starts programs for each request.
describePosix.each(eachNth(languages, 2))(
  "with a mistake, in %s",
  (_language, serve, _right, wrong, mistakes) => {
    test("a receiver fails the cases of its mistakes", async () => {
      const { code, failed } = await examined(serve, wrong);
      expect([code, failed]).toEqual([1, mistakes]);
    });
  },
);

test("Python's standard library agrees with the vectors of the service", async () => {
  const service = vectorFiles.find(({ name }) => name === "service");
  const titlesOf = (valid: boolean) =>
    service?.vectors.filter((one) => one.valid === valid).map(({ title }) => title);
  const script = join(import.meta.dirname, "languages/vectors.py");
  const { stdout } = await runProgram("python3", [script, "vectors/service.json"], { cwd: root });
  expect(JSON.parse(stdout)).toEqual([titlesOf(true), titlesOf(false)]);
});

test("the block of vectors/README.md passes", async () => {
  const page = readFileSync(join(root, "vectors/README.md"), "utf8");
  const [, block = ""] = /```python\n([^]*?)```/.exec(page) ?? [];
  const { exitCode, stderr } = await runProgram("python3", ["-c", block], { cwd: root });
  expect([exitCode, stderr]).toEqual([0, ""]);
});
