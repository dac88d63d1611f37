import { defineConfig } from "vitest/config";
import base from "../../base.config.js";

/** Configures the suite of `run.slow.ts`: the files in this folder that `PLANTED` names. */
export default defineConfig({
  ...base,
  test: {
    ...base.test,
    include: (process.env["PLANTED"] ?? "")
      .split(",")
      .map((name) => `test/ci/planted/${name}.planted.ts`),
  },
});
