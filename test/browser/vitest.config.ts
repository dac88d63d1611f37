import { defineConfig } from "vitest/config";
import base from "../base.config.js";
import { projectsOf } from "../projects.js";
import { filesOf } from "../suites.js";

/** Configures the suites that need a real browser, which not every machine has. */
export default defineConfig({
  ...base,
  test: { ...base.test, projects: projectsOf(filesOf("browser")) },
});
