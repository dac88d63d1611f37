import { defineConfig } from "vitest/config";
import base from "./base.config.js";
import { projectsOf } from "./projects.js";
import { filesOfQuick } from "./suites.js";

/** Units and contracts: a minute, for those who change a file. */
export default defineConfig({
  ...base,
  test: { ...base.test, projects: projectsOf(filesOfQuick()) },
});
