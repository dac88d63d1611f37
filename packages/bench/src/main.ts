import { fork } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import type { Section } from "./race.js";
import { machine } from "./report/machine.js";
import { writePage } from "./report/page.js";
import { barTable, raceTable } from "./report/tables.js";
import { isSectionId, sections, type SectionId } from "./sections.js";

const usage = `npm run bench [-- [section …] [--quick]]

  sections   ${Object.keys(sections).join(", ")}; all of them if none is named
  --quick    every step once: a look, no measurement

A whole run that is not quick writes docs/benchmarks.md, .json and .svg.`;

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { quick: { type: "boolean", default: false }, help: { type: "boolean", short: "h" } },
});
const unknown = positionals.filter((id) => !isSectionId(id));

if (values.help || unknown.length > 0) {
  if (unknown.length > 0) console.error(`There is no section ${unknown.join(", ")}.\n`);
  console.log(usage);
  process.exitCode = unknown.length > 0 ? 2 : 0;
} else {
  const all = Object.keys(sections) as SectionId[];
  const chosen = positionals.length > 0 ? positionals.filter(isSectionId) : all;
  await bench(chosen, values.quick);
}

async function bench(chosen: readonly SectionId[], quick: boolean): Promise<void> {
  const about = machine();
  console.log(`${about.join("\n")}\n`);
  const results: Section[] = [];
  for (const id of chosen) {
    const section = await inItsOwnProcess(id, quick);
    console.log(`${section.title}\n\n${section.about}\n`);
    for (const race of section.races) console.log(`${await raceTable(race)}\n`);
    results.push(section);
  }
  console.log(await barTable(results.flatMap(({ races }) => races)));
  if (quick) console.log("\nThis was --quick: the figures say little.");
  else if (chosen.length === Object.keys(sections).length) {
    const files = await writePage(about, results);
    console.log(`\nWritten: ${files.join(", ")}`);
  }
}

async function inItsOwnProcess(id: SectionId, quick: boolean): Promise<Section> {
  const file = fileURLToPath(new URL("run-section.js", import.meta.url));
  const child = fork(file, [id, quick ? "quick" : "full"], { execArgv: ["--expose-gc"] });
  const sent = new Promise<Section>((resolve) => child.once("message", resolve as () => void));
  const ended = once(child, "exit").then(([code]) => {
    throw new Error(`section ${id} ended with ${String(code)} before it had a result`);
  });
  // Its end is only of interest if nothing was sent.
  ended.catch(() => {});
  return Promise.race([sent, ended]);
}
