import { defineConfig } from "vitest/config";
import base from "../base.config.js";
import { projectsOf } from "../projects.js";
import { sized } from "../kit/sized.js";
import { filesOf } from "../suites.js";

/**
 * Configures the suites that start an installation, a build, a benchmark or another Node. With `SVC_SUITE=full`, those
 * of `.nightly.ts` run too.
 */
export default defineConfig({
  ...base,
  test: {
    ...base.test,
    projects: projectsOf([...filesOf("matrix"), ...sized([], filesOf("nightly"))]),
  },
});
