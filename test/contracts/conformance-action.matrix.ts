import { existsSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { freePort } from "@svc-webhooks/kit/free-port";
import { outsideDirectory, root, run } from "@svc-webhooks/kit/programs";
import { testPosix } from "@svc-webhooks/kit/systems";
import { readManifest } from "@svc-webhooks/kit/workspace";
import { expect, test } from "vitest";
import { parse } from "yaml";

interface Action {
  readonly inputs: Readonly<
    Record<string, { readonly required?: boolean; readonly default?: string }>
  >;
  readonly runs: {
    readonly steps: readonly {
      readonly uses?: string;
      readonly run?: string;
      readonly shell?: string;
      readonly env?: Readonly<Record<string, string>>;
    }[];
  };
}

const folder = join(root, ".github/actions/conformance");
const text = readFileSync(join(folder, "action.yml"), "utf8");
const { inputs, runs } = parse(text) as Action;
const { version } = readManifest(join(root, "tools/cli"));
const secret = "whsec_test_of_the_action";

/** Runs the steps that have a script, in the environment that a forge provides. */
async function act(
  given: Readonly<Record<string, string>>,
  app: Readonly<Record<string, string>> = {},
) {
  const summary = join(outsideDirectory(), "summary.md");
  const valueOf = (expression: string) =>
    expression.replaceAll(/\$\{\{ inputs\.([\w-]+) \}\}/g, (_, name: string) => {
      const value = given[name] ?? inputs[name]?.default;
      if (value === undefined) throw new Error(`The action has no input ${name} without a value.`);
      return value;
    });
  const script = runs.steps.find((step) => step.run !== undefined);
  const env = Object.fromEntries(
    Object.entries(script?.env ?? {}).map(([name, value]) => [name, valueOf(value)]),
  );
  const ended = await run(
    "bash",
    ["--noprofile", "--norc", "-eo", "pipefail", "-c", script?.run ?? ""],
    {
      // npx finds the workspace's package of this version here.
      cwd: root,
      env: { ...env, ...app, GITHUB_ACTION_PATH: folder, GITHUB_STEP_SUMMARY: summary },
    },
  );
  return { ...ended, summary: existsSync(summary) ? readFileSync(summary, "utf8") : "" };
}

/** Runs the action on a receiver that it starts. */
async function actOn(receiver: "right" | "wrong") {
  const port = await freePort();
  const given = {
    url: `http://127.0.0.1:${port}/webhooks`,
    secret,
    version,
    start: `node test/contracts/action/receiver.mjs ${receiver}`,
  };
  const ended = await act(given, { PORT: String(port), SVC_WEBHOOK_SECRET: secret });
  const isRunning = await fetch(given.url).then(
    () => true,
    () => false,
  );
  return { ...ended, isRunning };
}

test("a correct receiver passes, and is stopped afterwards", async () => {
  const { exitCode, stdout, stderr, summary, isRunning } = await actOn("right");
  expect([exitCode, stderr, isRunning]).toEqual([0, "", false]);
  expect(stdout).toContain("Conforms: yes.");
  expect(summary).toContain("| passed | must | handles a genuine delivery and responds with 2xx |");
  expect(summary).not.toMatch(/\*\*failed\*\* \| must/);
  expect(stdout + summary).not.toContain(secret);
});

test("a receiver that accepts forgeries fails, with each case in the summary", async () => {
  const { exitCode, stdout, summary, isRunning } = await actOn("wrong");
  expect([exitCode, isRunning]).toEqual([1, false]);
  expect(stdout).toMatch(/^FAIL {2}must {2}refuses a delivery signed with another secret/m);
  expect(summary).toContain("The receiver does not conform.");
  expect(summary).toMatch(
    /^\| \*\*failed\*\* \| must \| refuses a delivery signed with another secret.* \| .+ \|$/m,
  );
});

const url = "http://127.0.0.1:9/webhooks";
test.each([
  [
    "a version that npx would resolve later",
    { url, secret, version: "latest" },
    "must be a whole version",
  ],
  ["an empty secret", { url, secret: "", version }, "`secret` is empty"],
  [
    "a URL that is not one",
    { url: "receiver", secret, version },
    "`url` must be the http or https URL",
  ],
  ["a scheme with an option", { url, secret, version, scheme: "--json x" }, "`scheme` must be"],
  ["a receiver that exits", { url, secret, version, start: "exit 3" }, "exited before"],
  [
    "a receiver that does not listen",
    { url, secret, version, "start-timeout": "0" },
    "did not accept connections at 127.0.0.1:9",
  ],
])("ends with exit code 2 and the fix: %s", async (_what, given, problem) => {
  const { exitCode, stdout, summary } = await act(given);
  expect([exitCode, summary]).toEqual([2, ""]);
  expect(stdout).toContain(`::error::`);
  expect(stdout).toContain(problem);
});

test("the workflow in docs/receivers.md passes inputs that exist, and each required one", () => {
  const page = readFileSync(join(root, "docs/receivers.md"), "utf8");
  const [, block = ""] = /```yaml\n([^]*?)```/.exec(page) ?? [];
  const workflow = parse(block) as {
    readonly jobs: Readonly<
      Record<string, { readonly steps: readonly { uses?: string; with?: object }[] }>
    >;
  };
  const steps = Object.values(workflow.jobs).flatMap((job) => job.steps);
  const { with: given = {} } =
    steps.find(({ uses }) => uses?.includes("actions/conformance@")) ?? {};
  const required = Object.keys(inputs).filter((name) => inputs[name]?.required);
  expect(Object.keys(given)).toEqual(expect.arrayContaining(required));
  expect(Object.keys(inputs)).toEqual(expect.arrayContaining(Object.keys(given)));
});

test("no script contains an expression, and every action is pinned to a commit", () => {
  for (const { run: script = "", shell, uses } of runs.steps) {
    expect(script).not.toContain("${{");
    expect(uses ?? shell).toMatch(/^bash$|@[0-9a-f]{40}$/);
  }
  expect(
    text.match(/uses: .+/g)?.every((line) => /@[0-9a-f]{40} # \d+\.\d+\.\d+$/.test(line)),
  ).toBe(true);
});

testPosix(
  "on Windows, it starts npx without its batch file, and ends the receiver with taskkill",
  async () => {
    const bin = outsideDirectory();
    const npx = join(bin, "node_modules/npm/bin/npx-cli.js");
    mkdirSync(dirname(npx), { recursive: true });
    writeFileSync(npx, "console.log(JSON.stringify({ url: 'x', conforms: true, results: [] }));");
    const node = join(bin, "node.exe");
    symlinkSync(process.execPath, node);
    writeFileSync(join(bin, "taskkill"), '#!/bin/sh\necho "taskkill $@"\nkill "$2"\n', {
      mode: 0o755,
    });
    const platform = `Object.defineProperty(process, "platform", { value: "win32" });
    process.execPath = ${JSON.stringify(node)};`;
    const port = await freePort();
    const receiver = `exec '${process.execPath}' test/contracts/action/receiver.mjs right`;
    const given = { url: `http://127.0.0.1:${port}/`, secret, version, start: receiver };
    const { exitCode, stdout, stderr } = await act(given, {
      PORT: String(port),
      SVC_WEBHOOK_SECRET: secret,
      PATH: `${bin}:${process.env["PATH"]}`,
      NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(platform)}`,
      comspec: "/bin/sh",
    });
    expect(stdout).toContain("Conforms: yes.");
    expect([stderr, exitCode]).toEqual(["", 0]);
    await expect(fetch(given.url)).rejects.toThrow("fetch failed");
  },
);
