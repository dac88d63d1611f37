/*
 * Runs the steps of `.ci/run`, and prints their times. A command that fails, or a suite with a fault, ends the run. A
 * file whose errors may come from the machine runs once more, alone, after all suites: `second-look.js` decides which.
 *
 * `node test/ci/run.js [configuration of Vitest …]` runs only these suites. By default, everything runs.
 *
 * It imports only what works before `npm ci`.
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import * as fs from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { durationsPage } from "../durations.js";
import { judge, lineOf, mostFiles, mostMs } from "./second-look.js";

const root = resolve(import.meta.dirname, "../..");
const reports = resolve(root, process.env.SVC_REPORTS ?? "reports");

/** The commands before the suites. The parts of `npm run check` need nothing that only tests need, and fail early. */
const commands = [
  "npm ci",
  "npm run build",
  ...["types", "lint", "pages"].map((part) => `node tools/build/check.js ${part}`),
];

/** Installs what the suites start, while the commands run: it mostly waits for the network and the disk. */
const tools = "bash .ci/tools";

/** The configurations of the suites, in their order. The last three run together. */
const suites = {
  test: "vitest.config.ts",
  slow: "test/slow.config.ts",
  matrix: "test/contracts/vitest.config.ts",
  "release, browser and chaos": "test/last.config.ts",
};

/**
 * Returns the processor time of all processes that have ended, in seconds, without that of processes that nobody
 * awaited. Only Linux reports it.
 */
function processorSeconds() {
  if (!fs.existsSync("/proc/self/stat")) return 0;
  // The name in parentheses may contain spaces. The times of children are the fields 16 and 17, in 1/100 s.
  const fields = fs.readFileSync("/proc/self/stat", "utf8").split(") ").at(-1).split(" ");
  return (Number(fields[13]) + Number(fields[14])) / 100;
}

// A second run of a file has the same seed as the first.
const newSeed = String(Date.now() % 100_000);
process.env.CHAOS_SEED ??= process.env.SVC_SUITE === "full" ? `${newSeed},1` : "1";

const steps = [];

/** Runs a program and adds its times to `steps`. Resolves to the exit code, or to the signal that ended it. */
async function timed(step, program, args, options) {
  console.log(`\n> ${step}`);
  const [cpuBefore, startedAt] = [processorSeconds(), performance.now()];
  const child = spawn(program, args, { cwd: root, stdio: "inherit", ...options });
  const [code, signal] = await once(child, "exit");
  const wall = (performance.now() - startedAt) / 1_000;
  steps.push({ step, wall, cpu: processorSeconds() - cpuBefore });
  return code ?? signal;
}

/** Runs the commands until one fails. Returns the fault. */
async function runCommands() {
  const installing = inBackground(tools);
  const fault = await firstFault();
  // A package manager that is interrupted leaves a broken system, so it also ends after a fault.
  const [cpuBefore, startedAt] = [processorSeconds(), performance.now()];
  const { code, output } = await installing;
  console.log(`\n> ${tools}\n${output}`);
  const wall = (performance.now() - startedAt) / 1_000;
  steps.push({ step: tools, wall, cpu: processorSeconds() - cpuBefore });
  return fault ?? (code === 0 ? [] : [`red: ${tools} exited with ${code}`]);
}

async function firstFault() {
  for (const command of commands) {
    const code = await timed(command, command, [], { shell: true });
    if (code !== 0) return [`red: ${command} exited with ${code}`];
  }
}

/** Runs a command. Resolves to its exit code, or the signal that ended it, and to what it printed. */
async function inBackground(command) {
  const stdio = ["ignore", "pipe", "inherit"];
  const child = spawn(`${command} 2>&1`, { cwd: root, shell: true, stdio });
  let output = "";
  child.stdout.setEncoding("utf8").on("data", (text) => (output += text));
  const [code, signal] = await once(child, "close");
  return { code: code ?? signal, output };
}

/** Runs a suite, or some of its files. Resolves to the results of files, and to those that `judge` returns. */
async function runSuite(step, config, runFolder, { only = [], ...options } = {}) {
  const path = join(reports, `${step.replaceAll(/\W+/g, "-")}.json`);
  const vitest = ["node_modules/vitest/vitest.mjs", "run", "--config", config, ...only];
  const env = { ...process.env, SVC_RESULTS: path, SVC_WEBHOOKS_SHARED_FOLDER: runFolder };
  const code = await timed(step, process.execPath, vitest, { env, ...options });
  const results = fs.existsSync(path) ? JSON.parse(fs.readFileSync(path, "utf8")) : undefined;
  return { files: results?.files ?? [], ...judge(results, code) };
}

/** Runs a file again, alone. Resolves to its results, and to its lines if it fails again. */
async function lookAgain({ config, file }, runFolder, timeout) {
  const second = await runSuite(`again: ${file}`, config, runFolder, { only: [file], timeout });
  const result = second.files.find((one) => one.file === file);
  const faults = [
    ...second.faults,
    ...second.again.map((one) => lineOf("red again", one.file, one.failures[0])),
  ];
  if (!result?.passed && faults.length === 0) faults.push(`red: ${file}: no test ran`);
  return { result, faults };
}

/** Runs the suites, and then the files that may run again. */
async function runSuites(wanted, runFolder) {
  const [files, excused] = [[], []];
  const flaky = [];
  // A line for each file that has not passed since.
  const red = () =>
    excused.slice(flaky.length).map((one) => lineOf("red", one.file, one.failures[0]));
  for (const [suite, config] of wanted) {
    const { again, faults, ...ran } = await runSuite(suite, config, runFolder);
    files.push(...ran.files.map((one) => ({ suite, ...one })));
    excused.push(...again.map((one) => ({ suite, config, ...one })));
    if (excused.length > mostFiles) {
      faults.push(`red: more than ${mostFiles} files failed, so none of them ran again`);
    }
    if (faults.length > 0) return { files, faults: [...red(), ...faults], flaky };
  }
  const endsAt = performance.now() + mostMs;
  for (const one of excused) {
    const left = Math.max(1, Math.round(endsAt - performance.now()));
    const { result, faults } = await lookAgain(one, runFolder, left);
    if (faults.length > 0) return { files, faults: [...red(), ...faults], flaky };
    flaky.push(lineOf("flaky", one.file, one.failures[0]));
    const index = files.findIndex(({ suite, file }) => suite === one.suite && file === one.file);
    files[index] = { suite: one.suite, ...result };
  }
  return { files, faults: [], flaky };
}

async function main(configs) {
  fs.rmSync(reports, { recursive: true, force: true });
  fs.mkdirSync(reports, { recursive: true });
  // The suites share what `once-per-run.ts` creates.
  const runFolder = fs.mkdtempSync(join(tmpdir(), "svc-webhooks-run-"));

  const isAll = configs.length === 0;
  const early = isAll ? await runCommands() : [];
  const wanted = isAll ? Object.entries(suites) : configs.map((config) => [config, config]);
  const ran = await runSuites(early.length > 0 ? [] : wanted, runFolder);
  const { files, flaky } = ran;
  const faults = [...early, ...ran.faults];

  fs.rmSync(runFolder, { recursive: true, force: true });
  fs.writeFileSync(join(reports, "flaky.md"), flaky.map((line) => `- ${line}\n`).join(""));
  fs.writeFileSync(join(reports, "times.json"), JSON.stringify({ steps, files }));
  const count = (state) => files.reduce((sum, file) => sum + file[state], 0);
  const failed = faults.length === 0 ? 0 : Math.max(1, count("failed"));
  console.log(`\n${durationsPage({ steps, files })}\n`);
  console.log(`Seeds of the chaos tests: ${process.env.CHAOS_SEED}`);
  console.log(`${count("passed")} passed, ${failed} failed, ${count("skipped")} skipped`);
  for (const line of [...faults, ...flaky]) console.log(line);
  process.exitCode = faults.length === 0 ? 0 : 1;
}

await main(process.argv.slice(2));
