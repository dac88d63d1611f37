import { defineConfig } from "vitest/config";
import base from "./base.config.js";
import { chaosFiles, chaosSettings } from "./faults/vitest.config.js";
import { projectsOf } from "./projects.js";
import { filesOf } from "./suites.js";

/**
 * Configures the suites of `test:browser`, `test:chaos` and the rehearsal of a release in one run, for `.ci/run`.
 */
export default defineConfig({
  ...base,
  test: {
    ...base.test,
    ...chaosSettings,
    projects: projectsOf([...filesOf("release"), ...filesOf("browser"), ...chaosFiles]),
  },
});
