/*
 * Runs the mutation tests with the given options of Stryker, prints the score, and fails if it is too low. A mutant that
 * only a timeout ended is reported, and is neither killed nor survived: a slow machine also causes timeouts.
 */
import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { resolve } from "node:path";

const lowest = 92;

const root = resolve(import.meta.dirname, "../..");
const stryker = ["node_modules/@stryker-mutator/core/bin/stryker.js", "run"];
const { status } = spawnSync(
  process.execPath,
  [...stryker, "test/mutants/stryker.config.json", ...process.argv.slice(2)],
  { cwd: root, stdio: "inherit" },
);
if (status !== 0) process.exit(status ?? 1);

const report = resolve(root, "reports/mutation/mutation.json");
const { files } = JSON.parse(readFileSync(report, "utf8"));
const mutants = Object.values(files).flatMap((file) => file.mutants);
const count = (...statuses) => mutants.filter((one) => statuses.includes(one.status)).length;

const killed = count("Killed");
const survived = count("Survived", "NoCoverage");
const score = (100 * killed) / (killed + survived);
console.log(
  `${mutants.length} mutants: ${killed} killed, ${survived} survived, ${count("Timeout")} timeouts, ${count("CompileError", "RuntimeError", "Ignored")} not run. Score without timeouts: ${score.toFixed(1)} %`,
);
if (score < lowest) {
  console.error(`The score is below ${lowest} %.`);
  process.exitCode = 1;
}
