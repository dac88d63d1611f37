import { mkdtemp, readFile, rm } from "node:fs/promises";
import { homedir, hostname, tmpdir } from "node:os";
import { pathToFileURL } from "node:url";
import { check } from "prettier";
import { beforeAll, describe, expect, onTestFinished, test } from "vitest";
import type { Race, Section } from "../src/race.js";
import { machine } from "../src/report/machine.js";
import { writePage } from "../src/report/page.js";
import { plot } from "../src/report/plot.js";
import { barTable, raceTable } from "../src/report/tables.js";

const speed: Race = {
  title: "verify, 1 kB",
  unit: "µs",
  better: "less",
  reference: "floor",
  lanes: [
    { name: "floor", values: [8, 10, 12] },
    { name: "svc-webhooks", values: [10, 10, 10] },
  ],
  bars: [
    { lane: "svc-webhooks", against: "floor", atLeast: 1.1, aim: 1.2 },
    { lane: "svc-webhooks", against: "floor", atLeast: 0.9, aim: 1.05 },
    { lane: "svc-webhooks", against: "floor", atLeast: 0.9, aim: 0.95 },
  ],
};

const size: Race = {
  title: "size, alone",
  unit: "B",
  better: "less",
  reference: "svc-webhooks",
  lanes: [
    { name: "svc-webhooks", values: [1_480] },
    { name: "a peer", values: [4_440] },
  ],
  bars: [{ lane: "svc-webhooks", atMost: 1_331, aim: 1_024 }],
};

const sections: readonly Section[] = [
  { title: "Signatures", about: "What verify() costs.", races: [speed] },
  { title: "Start", about: "How long an import takes.", races: [] },
  { title: "Size", about: "What is sent.", races: [size] },
];

const lines = (table: string) =>
  table.split("\n").map((line) =>
    line
      .split("|")
      .slice(1, -1)
      .map((cell) => cell.trim()),
  );

describe("the table of promises", () => {
  test("marks what is missed, kept and reached, beside what was promised", async () => {
    expect(lines(await barTable([speed, size]))).toEqual([
      ["", "what", "measured", "quartiles", "bar", "aim"],
      expect.anything(),
      ["✘", "verify, 1 kB: svc-webhooks, speed against floor", "1", "0.900 … 1.10", "≥ 1.1", "1.2"],
      [
        "✔",
        "verify, 1 kB: svc-webhooks, speed against floor",
        "1",
        "0.900 … 1.10",
        "≥ 0.9",
        "1.05",
      ],
      [
        "✔✔",
        "verify, 1 kB: svc-webhooks, speed against floor",
        "1",
        "0.900 … 1.10",
        "≥ 0.9",
        "0.95",
      ],
      ["✘", "size, alone: svc-webhooks", "1,480 B", "", "≤ 1,331", "1,024"],
    ]);
  });

  test("does not say a unit again that the title has named", async () => {
    const title = "Redis, round trips of a duplicate";
    const bars = [{ lane: "floor", atMost: 10, aim: 10 }];
    const rows = lines(await barTable([{ ...speed, title, unit: "round trips", bars }]));
    expect(rows.at(-1)).toContain("10");
  });

  test("is left out where nothing was promised", async () => {
    expect(await barTable([{ ...speed, bars: [] }])).toBe("");
  });
});

describe("the table of a race", () => {
  test("compares speeds, round by round, with quartiles", async () => {
    expect(lines(await raceTable(speed))).toEqual([
      ["verify, 1 kB", "µs per call", "quartiles", "speed, floor = 1", "quartiles"],
      expect.anything(),
      ["floor", "10", "9 … 11", "1", ""],
      ["svc-webhooks", "10", "", "1", "0.900 … 1.10"],
    ]);
  });

  test("compares costs where a cost is promised", async () => {
    const bars = [{ lane: "svc-webhooks", against: "floor", atMost: 1.5, aim: 1.2 }];
    const [head] = lines(await raceTable({ ...speed, bars }));
    expect(head).toContain("time, floor = 1");
  });

  test("of what is counted has no quartiles, and calls a size a size", async () => {
    expect(lines(await raceTable(size))).toEqual([
      ["size, alone", "B", "size, svc-webhooks = 1"],
      expect.anything(),
      ["svc-webhooks", "1,480", "1"],
      ["a peer", "4,440", "3"],
    ]);
  });

  test.each([
    ["requests/s", "more", "speed, floor = 1"],
    ["ms", "less", "time, floor = 1"],
    ["µs", "less", "time, floor = 1"],
    ["µs per call", "less", "time, floor = 1"],
    ["round trips", "less", "round trips, floor = 1"],
  ] as const)("finds the word for %s", async (unit, better, word) => {
    const [head] = lines(await raceTable({ ...speed, unit, better, bars: [] }));
    expect(head).toContain(word);
  });

  test("shows three digits that count, and whole numbers whole", async () => {
    const values = [0.030_34, 8.154, 10.04, 2, 999.4, 12_345.6];
    const lanes = values.map((value) => ({ name: `${value}`, values: [value] }));
    const rows = lines(await raceTable({ ...speed, reference: "2", lanes, bars: [] })).slice(2);
    expect(rows.map(([, value]) => value)).toEqual([
      "0.0303",
      "8.15",
      "10.0",
      "2",
      "999",
      "12,346",
    ]);
  });
});

describe("the page", () => {
  const facts = ["A processor, 2 cores", "Node 20"];
  const written = async (of: readonly Section[]) => {
    const folder = await mkdtemp(`${tmpdir()}/bench-`);
    const names = await writePage(facts, of, pathToFileURL(`${folder}/`));
    expect(names.map((file) => file.split("/").at(-1))).toEqual([
      "benchmarks.md",
      "benchmarks.json",
      "benchmarks.svg",
    ]);
    const read = (kind: string) => readFile(`${folder}/benchmarks.${kind}`, "utf8");
    const texts = { md: await read("md"), json: await read("json"), svg: await read("svg") };
    await rm(folder, { recursive: true });
    return texts;
  };

  let files: Awaited<ReturnType<typeof written>>;
  beforeAll(async () => {
    files = await written(sections);
  });

  test("tells how it came to be, on what, and shows every section with its tables", async () => {
    const today = /\d{4}-\d\d-\d\d/;
    expect(files.md).toMatch(today);
    for (const part of [
      "`npm run bench`",
      ...facts,
      "(benchmarks.svg)",
      "(benchmarks.json)",
      await barTable([speed, size]),
      ...sections.flatMap(({ title, about }) => [`## ${title}`, about]),
      await raceTable(speed),
      await raceTable(size),
    ]) {
      expect(files.md).toContain(part);
    }
  });

  test("says plainly how many promises are missed", () => {
    expect(files.md).toContain("Of 4 bars 2 are kept and **2 are missed**; 1 aim is reached.");
  });

  test("says what stands in the way of a missed bar, and nothing of kept ones", async () => {
    const bars = [
      { lane: "svc-webhooks", against: "floor", atLeast: 1.1, aim: 1.2, limit: "the floor is low" },
      { lane: "svc-webhooks", against: "floor", atLeast: 0.5, aim: 0.6, limit: "never seen" },
    ];
    const { md } = await written([{ title: "One", about: "It.", races: [{ ...speed, bars }] }]);
    expect(md).toContain("What stands in the way:\n\n- **verify, 1 kB**: the floor is low\n");
    expect(md).not.toContain("never seen");
    expect(files.md).not.toContain("stands in the way");
  });

  test("needs no formatting", async () => {
    expect(await check(files.md, { parser: "markdown", printWidth: 100 })).toBe(true);
    expect(await check(files.json, { parser: "json", printWidth: 100 })).toBe(true);
  });

  test("has the values of all rounds beside it", () => {
    expect(JSON.parse(files.json)).toEqual({
      date: expect.stringMatching(/^\d{4}-\d\d-\d\d$/),
      machine: facts,
      sections,
    });
  });

  test("has the picture beside it", () => {
    expect(files.svg).toBe(plot(sections));
  });
});

describe("the picture", () => {
  test("names every section with promises, every promise and its figures", () => {
    const texts = [...plot(sections).matchAll(/<text[^>]*>([^<]*)</g)].map(([, text]) => text);
    expect(texts).toEqual(
      expect.arrayContaining([
        "Signatures",
        "verify, 1 kB",
        "svc-webhooks, speed against floor",
        "✘",
        "✔",
        "✔✔",
        "≥ 1.1",
        "Size",
        "size, alone",
        "svc-webhooks",
        "1,480 B",
        "≤ 1,331",
        "1,024",
      ]),
    );
    expect(texts).not.toContain("Start");
  });

  test("is the same for the same values", () => {
    expect(plot(sections)).toBe(plot(sections));
  });

  test("draws what is missed in another colour, to the left", () => {
    const bars = [...plot(sections).matchAll(/<path d="M(\S+) \S+l(\S+) 0[^>]*fill="(#\w+)"/g)];
    const drawn = bars.map(([, , width, colour]) => [Math.sign(Number(width)), colour]);
    expect(drawn.slice(2)).toEqual([
      [-1, "#d55e00"],
      [1, "#0072b2"],
      [1, "#0072b2"],
      [-1, "#d55e00"],
    ]);
  });

  test("has an arrow where a bar ends at the edge, on both sides", () => {
    const hasArrow = (atLeast: number) => {
      const bars = [{ lane: "svc-webhooks", against: "floor", atLeast, aim: 1 }];
      return plot([{ title: "", about: "", races: [{ ...speed, bars }] }]).includes("<polygon");
    };
    expect([0.4, 0.6, 1.9, 2.1].map(hasArrow)).toEqual([true, false, false, true]);
  });

  test("cuts a title that would run into the bars", () => {
    const race = { ...size, title: "a delivery with a body of 1 kB, ".repeat(5) };
    expect(plot([{ title: "", about: "", races: [race] }])).toMatch(/>a delivery[^<]*\.\.\.</);
  });
});

describe("the machine", () => {
  test("is described by what it is, not by whose it is or where things are on it", () => {
    const text = machine().join("\n");
    expect(text).toContain(`Node ${process.versions.node}`);
    expect(text).toMatch(/standardwebhooks \d/);
    for (const name of [hostname(), homedir(), process.cwd()]) expect(text).not.toContain(name);
  });

  test("is described without the tools that it lacks", () => {
    const { PATH } = process.env;
    process.env["PATH"] = "";
    onTestFinished(() => {
      process.env["PATH"] = PATH;
    });
    const text = machine().join("\n");
    expect(text).not.toMatch(/wrk|redis-server/);
    expect(text).toMatch(/hono \d/);
  });
});
