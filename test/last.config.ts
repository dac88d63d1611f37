import { availableParallelism } from "node:os";
import { defineConfig } from "vitest/config";
import base from "./base.config.js";
import { chaosFiles, chaosSettings } from "./faults/vitest.config.js";
import { projectsOf } from "./projects.js";
import { filesOf } from "./suites.js";

/**
 * Configures the suites of `test:browser`, `test:chaos` and the rehearsal of a release in one run, for `.ci/run`: they
 * mostly wait, each for something else.
 */
export default defineConfig({
  ...base,
  test: {
    ...base.test,
    ...chaosSettings,
    maxWorkers: 3 * availableParallelism(),
    projects: projectsOf([...filesOf("release"), ...filesOf("browser"), ...chaosFiles]),
  },
});
