import { mkdtemp, readFile, rm } from "node:fs/promises";
import { homedir, hostname, tmpdir } from "node:os";
import { pathToFileURL } from "node:url";
import { check } from "prettier";
import { expect, onTestFinished, test } from "vitest";
import type { Race, Section } from "../src/race.js";
import { machine } from "../src/report/machine.js";
import { writePage } from "../src/report/page.js";
import { table } from "../src/report/table.js";

const lane = "svc-webhooks";
const speed: Race = {
  title: "verify, 1 kB",
  unit: "/s",
  reference: "floor",
  lanes: [
    { name: "floor", values: [8, 10, 12] },
    { name: lane, values: [10, 10, 12] },
    { name: "a peer", values: [2, 2.5, 3] },
  ],
  bars: [
    { lane, against: "floor", atLeast: 1.1, aim: 1.2, limit: "The floor is low." },
    { lane, against: "a peer", atLeast: 0.9, aim: 5, limit: "Never shown." },
    { lane, against: "floor", atLeast: 0.9, aim: 0.95 },
  ],
};
const size: Race = {
  title: "gzip, alone",
  unit: "B",
  reference: lane,
  lanes: [
    { name: lane, values: [1_480] },
    { name: "a peer", values: [4_440] },
  ],
  bars: [{ lane, atMost: 1_331, aim: 1_024 }],
};
const sections: readonly Section[] = [
  { title: "Verify", races: [speed] },
  { title: "Start", races: [{ ...size, title: "start", bars: [] }] },
  { title: "Size", races: [size] },
];

test("the table has a row per bar, then a row per lane without one", async () => {
  const [, , ...lines] = (await table([speed, size])).trimEnd().split("\n");
  const cellsOf = (line: string) => line.split("|").map((cell) => cell.trim());
  expect(lines.map((line) => cellsOf(line).slice(1, -1))).toEqual([
    ["✘?", `verify, 1 kB: ${lane}`, "10/s", "floor", "1", "1 … 1.13", "≥ 1.1", "1.2"],
    ["✔", `verify, 1 kB: ${lane}`, "10/s", "a peer", "4", "4 … 4.50", "≥ 0.9", "5"],
    ["✔✔", `verify, 1 kB: ${lane}`, "10/s", "floor", "1", "1 … 1.13", "≥ 0.9", "0.95"],
    ["✘", `gzip, alone: ${lane}`, "1,480 B", "", "", "", "≤ 1,331", "1,024"],
    ["", "verify, 1 kB: floor", "10/s", "", "", "9 … 11", "", ""],
    ["", "verify, 1 kB: a peer", "2.50/s", "floor", "0.250", "", "", ""],
    ["", "gzip, alone: a peer", "4,440 B", lane, "3", "", "", ""],
  ]);
});

test("the page has the summary, the limits of missed bars, the table and the machine", async () => {
  const folder = await mkdtemp(`${tmpdir()}/bench-`);
  onTestFinished(() => rm(folder, { recursive: true }));
  await writePage(["A processor, 2 cores"], sections, pathToFileURL(`${folder}/`));
  const page = await readFile(`${folder}/docs/benchmarks.md`, "utf8");
  for (const part of [
    "2 of 4 bars were met, and 1 of 4 aims were reached. 1 results were close.",
    "medians over 3 to 3 rounds",
    `- **verify, 1 kB: ${lane} / floor**. The floor is low.\n`,
    `- **gzip, alone: ${lane}**. The reason is not known. Repeat the run on an idle machine.\n`,
    await table(sections.flatMap(({ races }) => races)),
    "- A processor, 2 cores",
  ]) {
    expect(page).toContain(part);
  }
  expect(page).toMatch(/measured the figures on this page on \d{4}-\d\d-\d\d\./);
  expect(page).not.toMatch(/Never shown|\{\w+\}|undefined|NaN/);
  expect(await check(page, { parser: "markdown", printWidth: 100 })).toBe(true);
  const values = await readFile(`${folder}/tools/bench/reports/values.json`, "utf8");
  expect(JSON.parse(values)).toMatchObject({ sections });
});

test("the machine is described without its name and paths", () => {
  const text = machine().join("\n");
  expect(text).toContain(`Node ${process.versions.node}`);
  expect(text).toMatch(/standardwebhooks \d/);
  expect(text).toMatch(/\d cores, .*load average \d/);
  for (const name of [hostname(), homedir(), process.cwd()]) expect(text).not.toContain(name);
});
