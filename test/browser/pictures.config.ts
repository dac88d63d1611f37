import { defineConfig } from "vitest/config";

/** Configures the suite that takes the documentation's screenshots of the inspector page. */
export default defineConfig({
  test: { include: ["test/browser/pictures.ts"], testTimeout: 60_000 },
});
