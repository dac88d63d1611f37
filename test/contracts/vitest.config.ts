import { defineConfig } from "vitest/config";

/** Runtimes in addition to those of `npm test`: other Nodes, other versions of Next.js, development servers. */
export default defineConfig({
  test: { include: ["test/**/*.matrix.ts"], testTimeout: 30_000 },
});
