import { expect, test } from "vitest";
import type { History, Runner } from "../../src/history.js";
import { pageOf } from "../../src/report/page.js";
import type { ReportPage } from "../../src/report/report.js";
import type { Words } from "../../src/report/words.js";
import { search } from "../../src/search/search.js";
import { runnerOf } from "../search/program.js";

const words: Words = {
  only: "`--at`",
  accept: "--accept",
  repeat: (faults) => `--at ${faults}`,
};

const options = {
  events: ["email.sent"],
  faults: ["crash"],
  maxFaults: 1,
  maxHistories: 0,
  seed: 1,
  accept: [],
  isExact: false,
  blind: [],
  words,
} as const;

const charging = { crossings: ["claim", "charge", "complete"] };

const withoutData = ({ report, ...page }: ReportPage): ReportPage => ({
  ...page,
  report: { ...report, findings: [], only: "crash@3" },
});

test("a report, its page and its errors use the words of their form, and its data does not", async () => {
  const page = await search(runnerOf(charging), { ...options, accept: ["lost x"] });
  expect(page.report.findings[0]?.repeat).toBe("crash@4");
  expect(page.report.text).toContain(" with one fault. Repeat: --at crash@4\n");
  expect(page.report.text).toMatch(
    /\n--accept names "lost x", which does not occur\. Remove it\.$/,
  );
  expect(pageOf(page, words)).toContain("Repeat it: <code>--at crash@4</code>");
  expect(pageOf(page)).toContain("Repeat it: <code>only: &quot;crash@4&quot;</code>");
  expect(pageOf(withoutData(page), words)).toContain(
    "<p>Only the history with crash@3 was run. Remove `--at` to run all histories.",
  );
});

test("the error of a fault that did not happen names the option of its form", async () => {
  const runner = runnerOf(charging);
  const run: Runner["run"] = async (faults, variant) => {
    const history = await runner.run(faults, variant);
    return faults.length === 0 ? history : { ...history, notReached: 99 };
  };
  await expect(search({ run }, { ...options, only: "crash@99" })).rejects.toThrow(
    /^`--at` is "crash@99", but the fault did not happen.* remove `--at`, and run all histories\.$/,
  );
});

test("results that did not occur again, and points that were not reached, are written in these words", async () => {
  const runner = runnerOf(charging);
  const seen = new Set<string>();
  const { report } = await search(
    {
      async run(faults, variant): Promise<History> {
        const history = await runner.run(faults, variant);
        const [fault] = faults;
        if (fault?.point === 1) return { ...history, notReached: 1 };
        const isRepeated = fault !== undefined && seen.has(`${fault.point}`);
        seen.add(`${fault?.point}`);
        return isRepeated ? runner.run([]) : history;
      },
    },
    options,
  );
  expect(report.notReached).toEqual(["crash@1"]);
  expect(report.unsteady).toEqual(["duplicate charge: crash@4"]);
  expect(report.text).toContain("\nNot reached, so not tried: crash@1.\n");
  expect(report.text).toContain(
    "\nDid not occur again, probably because of timing: duplicate charge: crash@4.",
  );
});

test("the facts of an error about histories without faults are parts of its message", async () => {
  const refused = search(runnerOf({ ...charging, isRefused: true }), options);
  const error = await refused.catch((thrown: unknown) => thrown as Error);
  expect(error).toMatchObject({
    code: "not_acknowledged",
    facts: { problem: "email.sent is not acknowledged, even without a fault.", unseen: [] },
  });
  expect(Object.keys(error)).not.toContain("facts");
  const random = search(runnerOf({ ...charging, isRandom: true }), options);
  await expect(random).rejects.toMatchObject({
    code: "nondeterministic",
    facts: { lines: ["undisturbed run 1: charge 1", "undisturbed run 2: charge 2"] },
  });
});
