import { cpSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import type { CrashTestReport } from "@svc-webhooks/testing/crash-test";
import { npm } from "@svc-webhooks/kit/npm";
import { outsideDirectory, root, run } from "@svc-webhooks/kit/programs";
import { isFull, sized } from "@svc-webhooks/kit/sized";
import { beforeAll, expect, test } from "vitest";
import { packWorkspace } from "../package/packed.js";

const { consumer } = await packWorkspace();
const bun = createRequire(import.meta.url).resolve("bun/bin/bun.exe");
const folder = join(consumer, "crash-tests");
const jest = outsideDirectory();

beforeAll(async () => {
  cpSync(join(root, "test/crash-tests/runners"), folder, { recursive: true });
  const vitest = join(consumer, "node_modules/vitest");
  mkdirSync(dirname(vitest), { recursive: true });
  symlinkSync(join(root, "node_modules/vitest"), vitest, "junction");
  if (!isFull) return;
  // Jest resolves packages itself, and runs CommonJS.
  const config = {
    testEnvironment: "node",
    testMatch: ["**/runner.test.cjs"],
    testTimeout: 300_000,
  };
  writeFileSync(join(folder, "jest.config.json"), JSON.stringify(config));
  writeFileSync(join(jest, "package.json"), '{ "private": true }');
  const install = ["install", "--no-audit", "--no-fund", "--no-package-lock", "jest@30"];
  expect(await npm(install, { cwd: jest })).toMatchObject({ exitCode: 0 });
});

interface Results {
  readonly reports: Readonly<Record<string, CrashTestReport>>;
  readonly errors: readonly string[];
}

const results = new Map<string, Results>();

/** Runs the crash tests with a runner, unless that has been done, and returns what they wrote. */
async function resultsOf(runner: string): Promise<Results> {
  const known = results.get(runner);
  if (known) return known;
  const written = join(folder, `results-${runner}`);
  mkdirSync(written);
  const file = "runner.test.mjs";
  const program = (path: string) => [process.execPath, join(root, "node_modules", path)];
  const commands: Readonly<Record<string, readonly string[]>> = {
    node: [process.execPath, "--test", file],
    vitest: [...program("vitest/vitest.mjs"), "run", "--root", ".", "--testTimeout=300000", file],
    jest: [process.execPath, join(jest, "node_modules/jest/bin/jest.js"), "--ci"],
    bun: [bun, "test", "--timeout", "300000", `./${file}`],
  };
  const modules = { node: "node:test", vitest: "vitest", bun: "bun:test" };
  const [command = "", ...args] = commands[runner] ?? [];
  const env = { RUNNER: modules[runner as "node"], RESULTS: written };
  const { exitCode, stdout, stderr } = await run(command, args, { cwd: folder, env });
  expect({ exitCode, output: stdout + stderr }).toMatchObject({ exitCode: 0 });
  const read = (name: string): unknown => JSON.parse(readFileSync(join(written, name), "utf8"));
  const found = {
    reports: read("reports.json") as Results["reports"],
    errors: read("errors.json") as Results["errors"],
  };
  results.set(runner, found);
  return found;
}

test("node:test finds what is planted, with its line", async () => {
  const { reports } = await resultsOf("node");
  const found = Object.entries(reports).map(([name, { findings, unseen }]) => {
    const [finding] = findings;
    const line = finding?.source?.replace(/:\d+$/, "");
    return [name, findings.length, finding?.kind, finding?.effect, line, unseen.length];
  });
  const file = "crash-tests.cjs";
  expect(found).toEqual([
    ["charge", 1, "duplicate", "POST api.example.com/charge", file, 0],
    ["key", 0, undefined, undefined, undefined, 0],
    ["insert", 1, "duplicate", "orders", file, 0],
    ["transaction", 0, undefined, undefined, undefined, 0],
  ]);
});

test.each(sized(["vitest"], ["vitest", "jest"]))(
  "%s has the same reports as node:test",
  async (runner) => {
    const expected = await resultsOf("node");
    const { reports, errors } = await resultsOf(runner);
    expect(reports).toEqual(expected.reports);
    expect(errors).toEqual(expected.errors);
  },
);

test.each(sized(["node", "vitest"], ["node", "vitest", "jest"]))(
  "errors that nothing catches do not reach %s",
  async (runner) => {
    const { errors } = await resultsOf(runner);
    const causes = ["a promise", "a timer", "node:timers", "a tick", "a microtask"];
    expect(errors).toEqual(
      causes.map((cause) =>
        expect.stringMatching(`^not_acknowledged: [^]*A  ends: unhandled error: of ${cause}`),
      ),
    );
  },
);

test("Bun has the same reports, and each names what that runtime cannot show", async () => {
  const { reports: expected } = await resultsOf("node");
  const { reports } = await resultsOf("bun");
  for (const [name, report] of Object.entries(expected)) {
    const { blind = [], text = "" } = reports[name] ?? {};
    const limits = blind.slice(report.blind.length);
    expect(limits).toEqual([
      "sockets and files: this runtime cannot show them",
      expect.stringMatching(/^uncaught errors, and timers that are imported/),
    ]);
    const inNode = { blind: report.blind, text: text.replace(`; ${limits.join("; ")}`, "") };
    expect({ ...reports[name], ...inNode }).toEqual(report);
  }
});
