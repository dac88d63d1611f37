import { defineConfig } from "vitest/config";

/** The suite that writes the pictures of the inspector page in the documents (npm run pictures). */
export default defineConfig({
  test: { include: ["test/browser/pictures.ts"], testTimeout: 60_000 },
});
