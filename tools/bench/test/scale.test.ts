import { readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { root, run } from "@svc-webhooks/kit/programs";
import { expect, test } from "vitest";
import { planFor, type Rates } from "../src/scale/model.js";

const program = fileURLToPath(new URL("../dist/scale.js", import.meta.url));

const scale = (...args: readonly string[]) =>
  run(process.execPath, [program, ...args], { cwd: root });

const rates: Rates = {
  acceptRate: 100,
  runRate: 50,
  utilization: 0.5,
  peak: 4,
  peakSeconds: 300,
  outageSeconds: 3_600,
  jobBytes: 1_000,
  doneSeconds: 1_800,
  recordBytes: 100,
  retainSeconds: 86_400,
};

/** 10 events per second. */
const day = 864_000;

test("the databases accept the peak, run the average, and drain what has waited", () => {
  // 40 / 100 + 10 / 50 = 0.6 databases at full load, and twice as many at half load.
  const plan = planFor(day, rates);
  expect(plan.databases).toBe(2);
  // At the average, acceptance takes 0.1 of the planned 1 database, and 0.9 x 50 = 45 handlers finish per second.
  expect(plan.outage).toEqual({ jobs: 36_000, drainSeconds: 36_000 / 35 });
  // At the peak, (1 - 0.4) x 50 = 30 handlers finish, and 40 events arrive.
  expect(plan.burst.jobs).toBe(3_000);
  expect(plan.burst.drainSeconds).toBeCloseTo(3_000 / 35);
  expect(plan.jobBytes).toBe((18_000 + 36_000) * 1_000);
  expect(plan.recordBytes).toBe(day * 100);
});

test("a backlog without any spare time never drains", () => {
  // 10 / 20 + 10 / 20 = 1 database.
  const plan = planFor(day, { ...rates, acceptRate: 20, runRate: 20, utilization: 1, peak: 1 });
  expect(plan).toMatchObject({ databases: 1, burst: { jobs: 0, drainSeconds: 0 } });
  expect(plan.outage).toEqual({ jobs: 36_000, drainSeconds: Infinity });
});

test.each([
  // 10 / 100 + 10 / 50 = 0.3, which is a little more in floating point.
  { acceptRate: 100, runRate: 50, utilization: 0.3 },
  // (1 - 10 / 30) x 15 = 10, which is a little more in floating point.
  { acceptRate: 30, runRate: 15, utilization: 1 },
])("a rounding error adds no database and drains no backlog, with %j", (given) => {
  const plan = planFor(day, { ...rates, ...given, peak: 1 });
  expect(plan).toMatchObject({ databases: 1, burst: { jobs: 0, drainSeconds: 0 } });
  expect(plan.outage.drainSeconds).toBe(Infinity);
});

test("the page shows what its command prints", async () => {
  const page = readFileSync(join(root, "docs/scaling.md"), "utf8");
  const [, line = ""] = /npm run bench -- scale (.+)/.exec(page) ?? [];
  const { exitCode, stdout } = await scale(...line.split(" "));
  expect(exitCode).toBe(0);
  const shown = /<!-- scale -->\n\n(.*)\n\n<!-- \/scale -->/s.exec(page)?.[1] ?? "";
  // Prettier aligns the columns of the page.
  const cells = (table: string) => table.replaceAll(/ +/g, " ").replaceAll(/-+/g, "-");
  expect(cells(shown)).toBe(cells(stdout.trimEnd()));
});

test.each([
  [[], "--accept-rate is missing."],
  [["--accept-rate=1"], "--run-rate is missing."],
  [["--accept-rate=0", "--run-rate=1"], "--accept-rate must be a number from 1 to 10000000."],
  [["--accept-rate=1", "--run-rate="], "--run-rate must be a number from 1 to 10000000."],
  [["--acept-rate=1"], "Unknown option '--acept-rate'"],
  [["4000", "1500"], "Unexpected argument '4000'"],
])("%j is refused, and the options are listed", async (args, message) => {
  const { exitCode, stdout, stderr } = await scale(...args);
  expect([exitCode, stdout]).toEqual([2, ""]);
  expect(stderr).toContain(message);
  expect(stderr).toContain("--utilization <number>");
});
