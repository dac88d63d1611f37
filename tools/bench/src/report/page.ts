import { mkdir, readFile, writeFile } from "node:fs/promises";
import { relative } from "node:path";
import { fileURLToPath } from "node:url";
import { format } from "prettier";
import { judge, promisesOf, type Section } from "../race.js";
import { markdownOf, subjectOf, summary, table } from "./table.js";

const root = new URL("../../../../", import.meta.url);
const template = new URL("../../page.md", import.meta.url);

/** Writes the page, and all measured values to a file that Git ignores. Resolves to the paths of both files. */
export async function writePage(
  machine: readonly string[],
  sections: readonly Section[],
  folder: URL = root,
): Promise<string[]> {
  const parts: Readonly<Record<string, string>> = {
    date: new Date().toISOString().slice(0, 10),
    summary: summary(sections),
    limits: limits(sections),
    rounds: rounds(sections),
    table: await table(sections.flatMap(({ races }) => races)),
    sizes: markdownOf(sections.flatMap((section) => section.table ?? [])),
    machine: machine.map((line) => `- ${line}`).join("\n"),
  };
  const page = (await readFile(template, "utf8")).replaceAll(
    /\{(\w+)\}/g,
    (_, name: string) => parts[name] ?? "",
  );
  const files = {
    "docs/benchmarks.md": await format(page, { parser: "markdown", printWidth: 100 }),
    "tools/bench/reports/values.json": JSON.stringify({ machine, sections }),
  };
  const written: string[] = [];
  for (const [name, content] of Object.entries(files)) {
    const file = new URL(name, folder);
    await mkdir(new URL(".", file), { recursive: true });
    await writeFile(file, content);
    written.push(relative(process.cwd(), fileURLToPath(file)));
  }
  return written;
}

/** Returns the least and the greatest number of rounds of the races that have more than one. */
function rounds(sections: readonly Section[]): string {
  const lanes = sections.flatMap(({ races }) => races).flatMap((race) => race.lanes);
  const counts = lanes.map(({ values }) => values.length).filter((count) => count > 1);
  return `${Math.min(...counts)} to ${Math.max(...counts)}`;
}

/** Returns a Markdown list of the reasons for the missed bars, or an empty string. */
function limits(sections: readonly Section[]): string {
  const missed = new Map<string, string[]>();
  for (const { race, bar } of promisesOf(sections)) {
    const { isKept, isClose } = judge(race, bar);
    if (isKept) continue;
    const unknown = isClose ? "The result was close." : "The reason is not known.";
    const { limit = `${unknown} Repeat the run on an idle machine.` } = bar;
    missed.set(limit, [...(missed.get(limit) ?? []), `**${race.title}: ${subjectOf(bar)}**`]);
  }
  const lines = Array.from(missed, ([limit, bars]) => `- ${bars.join("; ")}. ${limit}`);
  return lines.length > 0 ? `These bars were missed:\n\n${lines.join("\n")}` : "";
}
