import { availableParallelism } from "node:os";
import { fileURLToPath } from "node:url";
import { defineConfig } from "vitest/config";
import { texts } from "../tools/build/texts.js";
import { ResultsReporter } from "./ci/results-reporter.js";
import { LongestFirst } from "./longest-first.js";
import { SkippedReporter } from "./skipped-reporter.js";

/** The settings that all suites share. */
export default defineConfig({
  plugins: [{ ...texts, enforce: "pre" }],
  resolve: {
    // The core's own tests run its source; all others run the build.
    alias: {
      "#hmac": fileURLToPath(new URL("../packages/core/src/crypto/hmac-node.ts", import.meta.url)),
      "#texts": fileURLToPath(new URL("../packages/core/src/texts/full.ts", import.meta.url)),
    },
  },
  test: {
    reporters: [
      "default",
      ...(process.env["GITHUB_ACTIONS"] ? ["github-actions"] : []),
      new SkippedReporter(),
      new ResultsReporter(),
    ],
    setupFiles: ["processor-time", "fixed-seed"].map((name) =>
      fileURLToPath(new URL(`ci/${name}.ts`, import.meta.url)),
    ),
    globalSetup: [fileURLToPath(new URL("kit/run-folder.ts", import.meta.url))],
    // The limit ends tests that hang, and no others: they must pass on a busy machine.
    testTimeout: 600_000,
    hookTimeout: 600_000,
    expect: { poll: { timeout: 300_000 } },
    // Tests also wait for servers and processes. More workers than this only make all of them slower.
    maxWorkers: availableParallelism() + 1,
    sequence: { sequencer: LongestFirst },
  },
});
