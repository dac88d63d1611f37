import { readFileSync } from "node:fs";
import { BaseSequencer, type TestSpecification } from "vitest/node";

/** The files that take the longest, in this order. `node test/durations.js --write` writes them. */
export const longest: readonly string[] = JSON.parse(
  readFileSync(new URL("longest.json", import.meta.url), "utf8"),
) as readonly string[];

/**
 * Starts the longest files first. Without durations of an earlier run, which CI does not have, Vitest starts large
 * files first: a long but small file would start last and run alone.
 */
export class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const rankOf = ({ moduleId }: TestSpecification) => {
      const rank = longest.findIndex((file) => moduleId.endsWith(`/${file}`));
      return rank === -1 ? longest.length : rank;
    };
    // oxlint-disable-next-line unicorn/no-array-sort -- a method of Vitest, not of an array
    const sorted = await super.sort(files);
    return sorted.toSorted((a, b) => rankOf(a) - rankOf(b));
  }
}
