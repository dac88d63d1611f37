import { defineConfig } from "vitest/config";

/** Thousands of events among processes that are killed and frozen, seed by seed. */
export default defineConfig({
  test: { include: ["test/faults/processes/*.long.ts"], testTimeout: 300_000 },
});
