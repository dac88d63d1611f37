import { fileURLToPath } from "node:url";
import { defineConfig } from "vitest/config";
import base from "../../base.config.js";

/** The tests that `queues.nightly.ts` runs on a Node that the queue supports. */
export default defineConfig({
  ...base,
  root: fileURLToPath(new URL("../../..", import.meta.url)),
  test: { ...base.test, include: ["test/queues/engine/*.engine.ts"] },
});
