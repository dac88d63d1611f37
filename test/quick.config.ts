import { defineConfig } from "vitest/config";
import base from "./base.config.js";
import { projectsOf } from "./projects.js";
import { filesOfQuick } from "./suites.js";

/** The suite of units and contracts: a minute, to run after each change of a file. */
export default defineConfig({
  ...base,
  test: { ...base.test, projects: projectsOf(filesOfQuick()) },
});
