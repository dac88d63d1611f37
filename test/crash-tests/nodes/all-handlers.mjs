import { correct, mistakes } from "./handlers.js";
import { nameOf, reportOf } from "./in-process.js";

/*
 * Prints the reports of each n-th handler: `all-handlers.mjs once 3`. With `repeat`, exits with 1 if a report differs in
 * a second run of the process, or if the text in a finding does not repeat it.
 */

const repeats = process.argv[2] === "repeat";
const step = Number(process.argv[3]);

const problems = [];
const reports = [];

for (const planted of [...mistakes, ...correct].filter((_one, index) => index % step === 0)) {
  const options = { maxFaults: planted.faults ?? 1 };
  const report = await reportOf(planted, options);
  reports.push({ name: planted.name, report });
  if (!repeats) continue;
  if (options.maxFaults === 1) {
    const again = await reportOf(planted, options);
    if (JSON.stringify(again) !== JSON.stringify(report)) {
      problems.push(`${planted.name}: the second report differs.`);
    }
  }
  for (const finding of report.findings.filter(({ repeat }) => repeat !== "")) {
    const { findings } = await reportOf(planted, { ...options, only: finding.repeat });
    const repeated = findings.find((one) => nameOf(one) === nameOf(finding));
    const parts = ({ history, source, advice }) => JSON.stringify([history, source, advice]);
    if (!repeated || parts(repeated) !== parts(finding)) {
      problems.push(`${planted.name}: ${finding.repeat} does not repeat ${nameOf(finding)}.`);
    }
  }
}

process.stdout.write(`${JSON.stringify(reports, undefined, 1)}\n`);
for (const problem of problems) process.stderr.write(`${problem}\n`);
process.exit(problems.length > 0 ? 1 : 0);
