import { availableParallelism } from "node:os";
import { defineConfig } from "vitest/config";
import base from "../base.config.js";
import { projectsOf } from "../projects.js";
import { filesOf } from "../suites.js";

/** Configures the suites that need a real browser, which not every machine has. */
export default defineConfig({
  ...base,
  test: {
    ...base.test,
    // These tests mostly wait for the browser's clock and for the network.
    maxWorkers: 3 * availableParallelism(),
    projects: projectsOf(filesOf("browser")),
  },
});
