import { writeFile } from "node:fs/promises";
import { relative } from "node:path";
import { fileURLToPath } from "node:url";
import { format } from "prettier";
import { judge, type Race, type Section } from "../race.js";
import { plot } from "./plot.js";
import { barTable, raceTable } from "./tables.js";

const root = new URL("../../../../", import.meta.url);

/** Writes what was measured, to read, to look at and to reckon with. Answers the files. */
export async function writePage(
  machine: readonly string[],
  sections: readonly Section[],
  folder: URL = new URL("docs/", root),
): Promise<string[]> {
  const date = new Date().toISOString().slice(0, 10);
  const files = {
    "benchmarks.md": await page(date, machine, sections),
    "benchmarks.json": await data(date, machine, sections),
    "benchmarks.svg": plot(sections),
  };
  const written: string[] = [];
  for (const [name, content] of Object.entries(files)) {
    const file = new URL(name, folder);
    await writeFile(file, content);
    written.push(relative(fileURLToPath(root), fileURLToPath(file)));
  }
  return written;
}

async function page(
  date: string,
  machine: readonly string[],
  sections: readonly Section[],
): Promise<string> {
  const races = sections.flatMap((section) => section.races);
  const chapters: string[] = [];
  for (const section of sections) {
    chapters.push(`## ${section.title}`, section.about);
    for (const race of section.races) chapters.push(await raceTable(race));
  }
  const text = [
    "# Benchmarks",
    `Written by \`npm run bench\` on ${date}; the values of all rounds are in [benchmarks.json](benchmarks.json).`,
    machine.map((line) => `- ${line}`).join("\n"),
    howToRead,
    "## What is promised",
    summary(sections),
    "![Each promise as a bar: to the right of the line it is kept, to the left it is missed. The table below has the same figures.](benchmarks.svg)",
    await barTable(races),
    "✔✔ the aim is reached, ✔ the bar is kept, ✘ it is missed.",
    limits(races),
    ...chapters,
  ];
  return format(text.join("\n\n"), { parser: "markdown", printWidth: 100 });
}

const howToRead = `## How to read it

Contenders take turns: in each round every one of them does the same work, in changing order, and a ratio is taken of two values of the same round. What slows the machine down for a while slows both, so a ratio stays when a time does not: **compare ratios, here and with your machine; times and rates are only this machine's**. Every figure is the median of the rounds, with the quartiles beside it: half of the rounds lie between them. What is counted rather than timed, such as bytes of code, has no quartiles.

_By hand_ is what a careful user would write without us; the _floor_ is the least that does the work at all.`;

/** Said before anything is shown, so that nobody has to look for it. */
function summary(sections: readonly Section[]): string {
  const verdicts = sections.flatMap(({ races }) =>
    races.flatMap((race) => race.bars.map((bar) => judge(race, bar))),
  );
  const met = verdicts.filter(({ isMet }) => isMet).length;
  const missed = verdicts.length - met;
  const aims = verdicts.filter(({ reachesAim }) => reachesAim).length;
  return `A bar is what the project promises, an aim what it wants to be known for. Of ${verdicts.length} bars ${are(met)} kept and **${are(missed)} missed**; ${aims} ${aims === 1 ? "aim is" : "aims are"} reached.`;
}

const are = (count: number) => `${count} ${count === 1 ? "is" : "are"}`;

/** What is known of the bars that are missed. */
function limits(races: readonly Race[]): string {
  const missed = races.flatMap((race) =>
    race.bars
      .filter((bar) => bar.limit !== undefined && !judge(race, bar).isMet)
      .map((bar) => `- **${race.title}**: ${bar.limit}`),
  );
  return missed.length > 0 ? `What stands in the way:\n\n${missed.join("\n")}` : "";
}

/** All values, for whoever wants to reckon with them. */
function data(
  date: string,
  machine: readonly string[],
  sections: readonly Section[],
): Promise<string> {
  return format(JSON.stringify({ date, machine, sections }, asMeasured), {
    parser: "json",
    printWidth: 100,
  });
}

/** More digits than these have not been measured. */
const asMeasured = (_name: string, value: unknown) =>
  typeof value === "number" ? Number(value.toPrecision(6)) : value;
