import { fileURLToPath } from "node:url";
import { defineConfig } from "vitest/config";
import base from "../../base.config.js";

/** The tests that `effects.matrix.ts` and `chaos.nightly.ts` run on a Node that pg-boss supports. */
export default defineConfig({
  ...base,
  root: fileURLToPath(new URL("../../..", import.meta.url)),
  test: { ...base.test, include: ["test/effects/engine/*.engine.ts"], testTimeout: 3_600_000 },
});
