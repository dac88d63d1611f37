import { availableParallelism } from "node:os";
import { defineConfig } from "vitest/config";
import base from "./base.config.js";
import { chaosFiles, chaosSettings } from "./faults/vitest.config.js";
import { projectsOf } from "./projects.js";
import { filesOf } from "./suites.js";

/**
 * Configures the suites of `test:browser`, `test:chaos` and the rehearsal of a release in one run, for `.ci/run`. Each
 * file starts several processes, so more workers would only make all of them slower.
 */
export default defineConfig({
  ...base,
  test: {
    ...base.test,
    ...chaosSettings,
    maxWorkers: availableParallelism() + 1,
    projects: projectsOf([...filesOf("release"), ...filesOf("browser"), ...chaosFiles]),
  },
});
