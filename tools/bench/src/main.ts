import { parseArgs } from "node:util";
import { startChild } from "./child.js";
import type { Section } from "./race.js";
import { machine } from "./report/machine.js";
import { writePage } from "./report/page.js";
import { summary, table } from "./report/table.js";
import { sectionIds } from "./sections.js";

const usage = `npm run bench [-- [section …] [--quick]], or npm run bench -- scale --help

  sections   ${sectionIds.join(", ")}; default: all
  --quick    runs every step once, to see that it works; the figures mean little

A full run without --quick writes docs/benchmarks.md.`;

const isScale = process.argv[2] === "scale";
if (isScale) process.argv.splice(2, 1);
await (isScale ? import("./scale.js") : race());

async function race(): Promise<void> {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: { quick: { type: "boolean", default: false } },
  });
  const unknown = positionals.filter((id) => !sectionIds.includes(id));
  if (unknown.length === 0) {
    return bench(positionals.length > 0 ? positionals : sectionIds, values.quick);
  }
  console.error(`There is no section "${unknown.join('", "')}".\n\n${usage}`);
  process.exitCode = 2;
}

async function bench(ids: readonly string[], quick: boolean): Promise<void> {
  const facts = machine();
  console.log(`${facts.join("\n")}\n`);
  const results: Section[] = [];
  for (const id of ids) {
    const args = [id, quick ? "quick" : "full"];
    const child = startChild("run-section.js", args, { execArgv: ["--expose-gc"] });
    const section = (await child.reply()) as Section;
    console.log(`${section.title}\n\n${await table(section.races)}`);
    results.push(section);
  }
  console.log(summary(results));
  if (quick) console.log("This was --quick: the figures mean little.");
  else if (ids === sectionIds) {
    console.log(`Written: ${(await writePage(facts, results)).join(", ")}`);
  }
}
