import { expect, test } from "vitest";
import type { ReportPage } from "../../src/report/report.js";
import { search } from "../../src/search/search.js";
import type { SearchOptions } from "../../src/search/options.js";
import { runnerOf, type Program } from "./program.js";

const charge: Program = { crossings: ["claim", "charge", "complete"] };
const keyed: Program = { crossings: ["claim", "keyed", "complete"] };

async function searched(program: Program, options: Partial<SearchOptions> = {}) {
  const runner = runnerOf(program);
  const { report, cells } = await search(runner, {
    events: ["email.sent"],
    faults: ["crash", "fail", "response_lost"],
    maxFaults: 1,
    maxHistories: 500,
    seed: 1,
    accept: [],
    isExact: true,
    blind: [],
    ...options,
  });
  return { report, cells, ran: runner.ran };
}

test("one fault is tried at each point at which it can happen", async () => {
  const { report, cells } = await searched(keyed);
  expect(report.tried).toEqual([{ faults: 1, run: 12, of: 12 }]);
  expect(cells).toHaveLength(12);
});

test("the finding is the shortest history of the first kind, with all its places", async () => {
  const { report } = await searched(charge);
  expect(report.findings).toMatchObject([
    {
      kind: "duplicate",
      effect: "charge",
      repeat: "crash@4",
      cells: ["crash@4", "response_lost@4", "crash@5", "fail@5", "crash@6", "response_lost@6"],
    },
  ]);
});

test("no second fault is added while a finding with one is open", async () => {
  const { report } = await searched(charge, { maxFaults: 2 });
  expect(report.tried.map(({ faults }) => faults)).toEqual([1]);
  expect(report.text).toContain(
    "Once these findings are fixed, histories with two faults are run too.",
  );
});

test("a second fault is added to each history, after its first", async () => {
  const { report, ran } = await searched(keyed, { maxFaults: 2 });
  const [one, two] = report.tried;
  expect(one?.run).toBe(12);
  expect(two?.run).toBe(two?.of);
  const pairs = ran.filter((faults) => faults.length === 2);
  expect(pairs).toHaveLength(Number(two?.of));
  for (const [first = "", second = ""] of pairs) {
    expect(Number(second.split("@")[1])).toBeGreaterThan(Number(first.split("@")[1]));
  }
});

test("a finding that needs two faults is found by pairs only", async () => {
  const givesUp: Program = { ...keyed, givesUpInRun: 3 };
  const { report } = await searched(givesUp, { maxFaults: 2 });
  expect(report.findings).toMatchObject([{ kind: "lost", effect: "keyed", cells: [] }]);
  expect(report.findings[0]?.repeat.split(" ")).toHaveLength(2);
});

test("crashes that leave the same world are continued once, which changes no finding", async () => {
  const givesUp: Program = { ...keyed, givesUpInRun: 3 };
  const { report, ran } = await searched(givesUp, { maxFaults: 2, faults: ["crash"] });
  const firsts = new Set(ran.filter((faults) => faults.length === 2).map(([first]) => first));
  // A crash after the claim, and one before the call is sent, leave the same world.
  expect(firsts.has("crash@2")).toBe(true);
  expect(firsts.has("crash@3")).toBe(false);
  expect(report.findings[0]).toMatchObject({ kind: "lost", repeat: "crash@1 crash@3" });
});

test("a history with three faults is shrunk to those that are necessary", async () => {
  const givesUp: Program = { ...keyed, givesUpInRun: 4 };
  const found = await searched(givesUp, { maxFaults: 3 });
  expect(found.report.findings[0]?.repeat.split(" ")).toHaveLength(3);
  // Of two faults, none is removed, and a finding of two is found before those of three.
  const early = await searched({ ...keyed, givesUpInRun: 3 }, { maxFaults: 3 });
  expect(early.report.findings[0]?.repeat.split(" ")).toHaveLength(2);
});

test("the same seed selects the same histories, and another one others", async () => {
  const options = { maxFaults: 2, maxHistories: 10 };
  const pairsOf = ({ ran }: { readonly ran: string[][] }) =>
    ran.filter((faults) => faults.length === 2);
  const first = await searched(keyed, options);
  expect(pairsOf(first)).toHaveLength(10);
  expect(pairsOf(await searched(keyed, options))).toEqual(pairsOf(first));
  expect(pairsOf(await searched(keyed, { ...options, seed: 2 }))).not.toEqual(pairsOf(first));
});

test("`only` runs one history", async () => {
  const { report, ran } = await searched(charge, { only: "crash@5" });
  expect(new Set(ran.filter((faults) => faults.length > 0).flat())).toEqual(new Set(["crash@5"]));
  expect(report.findings).toMatchObject([{ kind: "duplicate", repeat: "crash@5" }]);
});

test.each(["crash", "crash@0", "boom@3", "crash@7 crash@3", ""])(
  "`only` refuses %j",
  async (only) => {
    await expect(searched(charge, { only })).rejects.toMatchObject({ code: "invalid_option" });
  },
);

test("an accepted finding does not stop the search", async () => {
  const { report } = await searched(charge, { maxFaults: 2, accept: ["duplicate charge"] });
  expect(report.findings).toEqual([]);
  expect(report.accepted).toMatchObject([{ effect: "charge" }]);
  expect(report.tried).toHaveLength(2);
});

test("a program that differs from run to run is nondeterministic, with the first line that differs", async () => {
  const random: Program = { ...charge, isRandom: true };
  const lines = [
    "  undisturbed run 1: 0.000 s  A  charge 1, key none",
    "  undisturbed run 2: 0.000 s  A  charge 2, key none",
  ];
  await expect(searched(random)).rejects.toMatchObject({
    code: "nondeterministic",
    message: expect.stringContaining(lines.join("\n")) as string,
  });
});

test.each([
  { accept: "duplicate chrage", fix: 'Did you mean "duplicate charge"?' },
  { accept: "partial charge", fix: 'Did you mean "duplicate charge"?' },
  { accept: "lost welcome message", fix: "Remove it." },
])("a report with findings states that $accept does not occur", async ({ accept, fix }) => {
  const { report } = await searched(charge, { accept: [accept] });
  expect(report.text.split("\n").at(-1)).toBe(
    `\`accept\` names "${accept}", which does not occur. ${fix}`,
  );
});

test("an accepted finding that does not occur is an error if there is no other finding", async () => {
  await expect(searched(keyed, { accept: ["lost keyed"] })).rejects.toMatchObject({
    code: "accepted_not_found",
    message: '`accept` names "lost keyed", which does not occur. Remove it.',
  });
});

test("a program that is never acknowledged is an error with its history", async () => {
  const refused: Program = { ...charge, isRefused: true };
  await expect(searched(refused)).rejects.toMatchObject({
    code: "not_acknowledged",
    message: expect.stringMatching(
      /^email\.sent is not acknowledged, even without a fault/,
    ) as string,
  });
});

test("a program without an effect is an error", async () => {
  const idle: Program = { crossings: ["claim", "complete"] };
  await expect(searched(idle)).rejects.toMatchObject({ code: "no_effect" });
});

test("two runs whose simultaneous calls have another order differ only if runs are exact", async () => {
  const swapping = () => {
    const runner = runnerOf(keyed);
    let runs = 0;
    return async (...args: Parameters<typeof runner.run>) => {
      const history = await runner.run(...args);
      runs += 1;
      const [first, second, ...others] = history.crossings;
      if (runs !== 2 || !first || !second) return history;
      return {
        ...history,
        crossings: [{ ...second, n: 1 }, { ...first, n: 2 }, ...others],
      };
    };
  };
  const searching = (isExact: boolean) =>
    search(
      { run: swapping() },
      {
        events: ["email.sent"],
        faults: ["fail"],
        maxFaults: 1,
        maxHistories: 0,
        seed: 1,
        accept: [],
        isExact,
        blind: [],
      },
    );
  await expect(searching(true)).rejects.toMatchObject({ code: "nondeterministic" });
  expect((await searching(false)).report.findings).toEqual([]);
});

test("the names of events are one line, so that a report cannot contain a command of GitHub Actions", async () => {
  const { report } = await searched(keyed, { events: ["a\n::warning::b\u2028c"] });
  expect(report.events).toEqual(["a ::warning::b c"]);
  expect(report.text).toMatch(/^crash test of a ::warning::b c: no finding$/m);
});

test("a search that ends early reports what it has found", async () => {
  const runner = runnerOf(charge);
  const pages: ReportPage[] = [];
  const options: SearchOptions = {
    events: ["email.sent"],
    faults: ["crash", "fail", "response_lost"],
    maxFaults: 1,
    maxHistories: 500,
    seed: 1,
    accept: [],
    isExact: true,
    blind: [],
    onEndedEarly: (page) => pages.push(page),
  };
  const ended = search(
    {
      run: async (faults, variant) => {
        if (runner.ran.length >= 11) throw new Error("The time is up.");
        return runner.run(faults, variant);
      },
    },
    options,
  );
  await expect(ended).rejects.toThrow("The time is up.");
  expect(pages.map(({ report }) => report.findings.map(({ kind }) => kind))).toEqual([
    ["duplicate"],
  ]);
  expect(pages[0]?.report.tried).toEqual([{ faults: 1, run: 9, of: 12 }]);
  expect(pages[0]?.report.text).toContain(
    "The test ended early, so these findings were not run again.",
  );
});
