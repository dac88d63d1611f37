import { writeFileSync } from "node:fs";
import { relative } from "node:path";
import type { SerializedError } from "vitest";
import type { Reporter, TestModule } from "vitest/node";
import { root } from "../kit/root.js";

/** An error of a test, or of a hook or an import of its file. */
export interface Failure {
  /** The names of the groups and the test, joined by ` > `. Empty for an error of the file. */
  readonly title: string;
  readonly name: string;
  readonly message: string;
  readonly code?: unknown;
}

export interface FileResults {
  /** The path relative to the root. */
  readonly file: string;
  /** The seconds that the file took, with its imports. */
  readonly seconds: number;
  /** The seconds of processor time, with that of the processes that it has started. */
  readonly processorSeconds: number;
  readonly passed: number;
  readonly failed: number;
  readonly skipped: number;
  readonly failures: readonly Failure[];
}

/** The results of one run of Vitest. */
export interface Results {
  readonly files: readonly FileResults[];
  /** The messages of errors outside of tests: rejections that nothing handles, processes that end. */
  readonly unhandled: readonly string[];
}

const failureOf = (title: string, { name, message, code }: SerializedError): Failure => ({
  title,
  name: String(name),
  message,
  code,
});

function resultsOf(module: TestModule): FileResults {
  const tests = [...module.children.allTests()];
  const count = (state: string) => tests.filter((test) => test.result().state === state).length;
  const { collectDuration, setupDuration, duration } = module.diagnostic();
  return {
    file: relative(root, module.moduleId),
    seconds: (collectDuration + setupDuration + duration) / 1_000,
    processorSeconds: module.meta().processorSeconds ?? 0,
    passed: count("passed"),
    failed: count("failed"),
    skipped: count("skipped"),
    failures: [
      ...module.errors().map((error) => failureOf("", error)),
      ...[...module.children.allSuites(), ...tests].flatMap((task) => {
        const errors = task.type === "suite" ? task.errors() : (task.result().errors ?? []);
        return errors.map((error) => failureOf(task.fullName, error));
      }),
    ],
  };
}

/** Writes the results of a run to the file that `SVC_RESULTS` names, for `test/ci/run.js`. */
export class ResultsReporter implements Reporter {
  onTestRunEnd(modules: readonly TestModule[], unhandled: readonly SerializedError[]): void {
    const path = process.env["SVC_RESULTS"];
    if (!path) return;
    const results: Results = {
      files: modules.map(resultsOf),
      unhandled: unhandled.map(({ message }) => message),
    };
    writeFileSync(path, JSON.stringify(results));
  }
}
