import { defineConfig } from "vitest/config";
import base from "../base.config.js";
import { filesOf } from "../suites.js";

/** The suites that run in a real browser, which is not on every machine. */
export default defineConfig({
  ...base,
  test: {
    ...base.test,
    include: filesOf("browser"),
    // A browser uses all cores, and some tests measure time.
    fileParallelism: false,
  },
});
