import type { Reporter, TestModule, Vitest } from "vitest/node";

/** Prints the number and the names of the tests that were skipped, unless a name was given to run. */
export class SkippedReporter implements Reporter {
  #isFiltered = false;

  onInit(vitest: Vitest): void {
    this.#isFiltered = vitest.config.testNamePattern !== undefined;
  }

  onTestRunEnd(modules: readonly TestModule[]): void {
    const skipped = modules.flatMap((one) =>
      Array.from(
        one.children.allTests("skipped"),
        ({ fullName }) => `${one.relativeModuleId} > ${fullName}`,
      ),
    );
    if (this.#isFiltered || skipped.length === 0) return;
    console.log(`Skipped ${skipped.length} tests:\n${skipped.join("\n")}`);
  }
}
