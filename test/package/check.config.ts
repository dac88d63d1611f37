import { defineConfig } from "vitest/config";
import base from "../base.config.js";
import { projectsOf } from "../projects.js";
import { filesOf } from "../suites.js";

/** Configures the suite that only reads files of the repository and its builds. It starts no server and no program except git. */
export default defineConfig({
  ...base,
  test: { ...base.test, projects: projectsOf(filesOf("check")) },
});
