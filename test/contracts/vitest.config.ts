import { defineConfig } from "vitest/config";
import base from "../base.config.js";
import { longestFirst } from "../longest-first.js";
import { filesOf } from "../suites.js";

/** Configures the suites that start an installation, a build, a benchmark or another Node. */
export default defineConfig({
  ...base,
  test: {
    ...base.test,
    include: filesOf("matrix"),
    sequence: { sequencer: longestFirst("matrix") },
  },
});
