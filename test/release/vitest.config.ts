import { defineConfig } from "vitest/config";
import base from "../base.config.js";
import { ResultsReporter } from "../ci/results-reporter.js";
import { filesOf } from "../suites.js";

/** Configures the rehearsal of a release: each step needs the one before it. */
export default defineConfig({
  ...base,
  test: {
    ...base.test,
    include: filesOf("release"),
    bail: 1,
    reporters: ["verbose", new ResultsReporter()],
  },
});
