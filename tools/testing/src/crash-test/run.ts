import { access, constants, mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { env, stdout } from "node:process";
import {
  annotationsOf,
  CrashTestError,
  pageOf,
  search,
  type CrashTestReport,
  type Fault,
  type ReportPage,
  type Runner,
  type Variant,
} from "@svc-webhooks/crash-test";
import { installGlobals, limitsOfRuntime } from "./globals/install.js";
import { completeOptions, type CrashTestOptions, type IntakeCrashTestOptions } from "./options.js";
import { Database } from "./postgres/engine.js";
import { inside } from "./virtual/inside.js";
import { Simulation } from "./simulation/simulation.js";
import type { Course, Setting } from "./simulation/world.js";

/** The time at which all histories except the shifted one start. It is also the time of fixtures and of `fakeClock`. */
const startMs = Date.UTC(2026, 0, 1);
/** The seed of the code's random numbers, except in the shifted history. The option `seed` only selects histories. */
const seed = 1;
/** The values that differ in the shifted history: random numbers, time, and the next values of database sequences. */
const shifted = { seed: 2, startMs: startMs + 40 * 86_400_000 + 12_345_678, sequences: 1_000 };

/** The access, state and conditions that a crash test inside a test runner cannot see or simulate, for the report. */
const blind = [
  "files that are read or written synchronously",
  "workers and native modules",
  "clients that were imported before this test and are not wrapped",
  "state of modules, which survives a simulated crash",
  "transactions that run at the same time",
];

/**
 * Runs a crash test, and resolves to its report.
 *
 * @throws CrashTestError (as a rejection), with the codes of `crashReport`
 */
export async function run(
  options: CrashTestOptions | IntakeCrashTestOptions,
): Promise<CrashTestReport> {
  const { subject, prepare, respond, observe, reportTo, ...searched } = completeOptions(options);
  const { events } = searched;
  if (inside.getStore()) {
    throw new CrashTestError(
      "invalid_option",
      "A crash test was started by code that another crash test is running. Start it from a test instead.",
    );
  }
  if (reportTo !== undefined) {
    await writing(async () => {
      await mkdir(reportTo, { recursive: true });
      await access(reportTo, constants.W_OK);
    });
  }
  const restore = installGlobals();
  const database = new Database();
  const setting: Setting = { events, subject, respond, observe, database };
  try {
    const runner = await prepared(setting, prepare);
    const page = await search(runner, {
      ...searched,
      events: events.map(typeOf),
      isExact: true,
      blind: [...blind, ...limitsOfRuntime()],
    });
    annotate(page.report);
    if (reportTo !== undefined) await writing(() => writeReport(reportTo, page), page.report);
    return page.report;
  } finally {
    database.close();
    restore();
  }
}

type Prepare = CrashTestOptions["prepare"];

/** Runs the option `prepare` and a first history as a warm-up, and resolves to the runner of the other histories. */
async function prepared(setting: Setting, prepare: Prepare): Promise<Runner> {
  const { database, events } = setting;
  const inOrder = events.map((_event, index) => index);
  const usual: Course = {
    faults: [],
    order: inOrder,
    seed,
    startMs,
    isWarmUp: false,
    isTraced: false,
  };
  if (prepare) await new Simulation(setting, usual).prepare(prepare);
  // The first history loads modules and creates lazy values, so that all later histories run the same code.
  const first = await new Simulation(setting, { ...usual, isWarmUp: true }).run(() =>
    database.keep(),
  );
  const courseOf = (faults: readonly Fault[], variant: Variant | undefined): Course => {
    if (variant === "reversed") return { ...usual, order: inOrder.toReversed() };
    if (variant === "shifted") return { ...usual, ...shifted };
    return { ...usual, faults, isTraced: variant === "traced" };
  };
  return {
    async run(faults, variant) {
      // Returns the first history if its code reached another program for real. The search then ends, so that no
      // further history reaches that program.
      if (first.isReal) return first;
      await database.restore(variant === "shifted" ? shifted.sequences : 0);
      return new Simulation(setting, courseOf(faults, variant)).run();
    },
  };
}

/** Returns the type of an event for the report: its `type`, its `event_type` or, if neither is a string, "event". */
function typeOf(event: unknown): string {
  const { type, event_type: other } = Object(event) as Readonly<Record<string, string>>;
  return [type, other].find((value) => typeof value === "string") ?? "event";
}

/**
 * Runs an operation on the folder of `reportTo`.
 *
 * @throws CrashTestError (as a rejection) `invalid_option` if the operation fails. The error contains `report` if it is
 *   set
 */
async function writing(write: () => Promise<void>, report?: CrashTestReport): Promise<void> {
  try {
    await write();
  } catch (error) {
    const text = report === undefined ? "" : `${report.text}\n`;
    throw new CrashTestError(
      "invalid_option",
      `${text}\`reportTo\` cannot be written: ${String(Object(error).message)}. Pass a folder to which this process can write.`,
      { report, cause: error },
    );
  }
}

async function writeReport(folder: string, page: ReportPage): Promise<void> {
  await writeFile(
    join(folder, "crash-test.json"),
    `${JSON.stringify(page.report, undefined, 2)}\n`,
  );
  await writeFile(join(folder, "crash-test.html"), pageOf(page));
}

/** In GitHub Actions, prints the findings as annotations. */
function annotate(report: CrashTestReport): void {
  if (env["GITHUB_ACTIONS"] !== "true") return;
  for (const line of annotationsOf(report)) stdout.write(`${line}\n`);
}

/** Returns the error for a report with findings or unseen access, otherwise undefined. */
export function problemOf(report: CrashTestReport): CrashTestError | undefined {
  const { findings, unseen, text } = report;
  if (findings.length > 0) return new CrashTestError("findings", text, { report });
  if (unseen.length === 0) return undefined;
  const fix =
    "To inject faults there too, wrap these calls with `world.effect`, or run the command `svc-webhooks crash-test`.";
  return new CrashTestError("unseen_access", `${text}\n${fix}`, { report });
}
