import { defineConfig } from "vitest/config";
import base from "./test/base.config.js";
import { projectsOf } from "./test/projects.js";
import { filesOf } from "./test/suites.js";

export default defineConfig({
  ...base,
  test: { ...base.test, projects: projectsOf(filesOf("test")) },
});
