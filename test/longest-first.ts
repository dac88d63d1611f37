import { BaseSequencer, type TestSpecification } from "vitest/node";
import type { endings } from "./suites.js";

/**
 * The files of each suite that run for minutes, the longest first. Vitest starts large files first unless it knows
 * durations of an earlier run, and CI does not have one: a long but small file would start last and run alone.
 */
export const longest = {
  chaos: [
    // A receiver that is short of processor time makes the sender repeat its requests, so next to it runs one process.
    "test/faults/processes/chaos.long.ts",
    "test/crash-tests/memory.long.ts",
    "test/faults/processes/sandbox.long.ts",
    "test/pg-boss/chaos.long.ts",
    "test/faults/crash-test/both-forms.long.ts",
    "test/faults/processes/sqlite.long.ts",
    "examples/express-sqlite/test/demo.long.ts",
  ],
  matrix: [
    "test/contracts/adapters.matrix.ts",
    "test/contracts/postgres-versions.matrix.ts",
    "test/crash-tests/nodes.matrix.ts",
    "test/frameworks/frameworks.matrix.ts",
    "test/pg-boss/pg-boss.matrix.ts",
    "packages/bench/test/sections.matrix.ts",
  ],
} as const satisfies Partial<Record<keyof typeof endings, readonly string[]>>;

/** Returns a sequencer that starts the longest files of a suite first, in their order above. */
export const longestFirst = (suite: keyof typeof longest) => {
  const rankOf = ({ moduleId }: TestSpecification) => {
    const rank = longest[suite].findIndex((file) => moduleId.endsWith(`/${file}`));
    return rank === -1 ? Infinity : rank;
  };
  return class extends BaseSequencer {
    override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
      // oxlint-disable-next-line unicorn/no-array-sort -- a method of Vitest, not of an array
      const sorted = await super.sort(files);
      return sorted.toSorted((a, b) => (rankOf(a) === rankOf(b) ? 0 : rankOf(a) - rankOf(b)));
    }
  };
};
