/*
 * Prints the time of each step of the last `.ci/run`, and the files that take the longest:
 * `node test/durations.js`. With `--write`, it also writes the names of these files to `test/longest.json`, which
 * `longest-first.ts` reads. It contains no times, because they are those of one machine.
 */
import { readFileSync, writeFileSync } from "node:fs";
import { resolve } from "node:path";

const mostFiles = 25;

const longestOf = (files) => files.toSorted((a, b) => b.seconds - a.seconds).slice(0, mostFiles);

const table = (head, rows) =>
  [head, head.map(() => "---"), ...rows].map((cells) => `| ${cells.join(" | ")} |`).join("\n");

/** Returns two tables: the steps with their minutes, and the files that take the longest. */
export function durationsPage({ steps, files }) {
  const minutes = (seconds) => (seconds / 60).toFixed(1);
  const sum = (key) => steps.reduce((total, step) => total + step[key], 0);
  const rows = [...steps, { step: "all", wall: sum("wall"), cpu: sum("cpu") }];
  return [
    table(
      ["step", "minutes", "of processor time"],
      rows.map(({ step, wall, cpu }) => [step, minutes(wall), minutes(cpu)]),
    ),
    table(
      ["file", "suite", "seconds", "of processor time"],
      longestOf(files).map(({ file, suite, seconds, processorSeconds }) => [
        file,
        suite,
        seconds.toFixed(1),
        processorSeconds.toFixed(1),
      ]),
    ),
  ].join("\n\n");
}

if (process.argv[1] === import.meta.filename) {
  const here = (path) => resolve(import.meta.dirname, path);
  const times = JSON.parse(readFileSync(here("../reports/times.json"), "utf8"));
  console.log(durationsPage(times));
  if (process.argv.includes("--write")) {
    const names = longestOf(times.files).map(({ file }) => file);
    writeFileSync(here("longest.json"), `${JSON.stringify(names, null, 2)}\n`);
  }
}
