/*
 * Prints the mutation score of the last `npm run test:mutants`, and fails if it is too low. A mutant that only a timeout
 * ended is reported, and is neither killed nor survived: a slow machine also causes timeouts.
 */
import { readFileSync } from "node:fs";
import { resolve } from "node:path";

const lowest = 92;

const report = resolve(import.meta.dirname, "../../reports/mutation/mutation.json");
const { files } = JSON.parse(readFileSync(report, "utf8"));
const mutants = Object.values(files).flatMap((file) => file.mutants);
const count = (...statuses) => mutants.filter(({ status }) => statuses.includes(status)).length;

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
