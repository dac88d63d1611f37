import { defineConfig } from "vitest/config";
import base from "./base.config.js";
import { projectsOf } from "./projects.js";
import { filesOf } from "./suites.js";

/** Configures the suite of tests that take too long for `npm test`, and need no more than it does. */
export default defineConfig({
  ...base,
  test: {
    ...base.test,
    // V8 spends more time on optimizing PGlite's WebAssembly than the crash tests spend in it.
    execArgv: ["--liftoff-only"],
    projects: projectsOf(filesOf("slow")),
  },
});
