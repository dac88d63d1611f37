import { fileURLToPath } from "node:url";
import { defineConfig } from "vitest/config";

export default defineConfig({
  resolve: {
    // The core's own tests run its source; everything else takes what was built.
    alias: {
      "#hmac": fileURLToPath(new URL("packages/core/src/crypto/hmac-node.ts", import.meta.url)),
      "#texts": fileURLToPath(new URL("packages/core/src/texts/full.ts", import.meta.url)),
    },
  },
  test: {
    include: ["{packages,examples}/*/test/**/*.test.ts", "test/**/*.test.ts"],
    testTimeout: 30_000,
    // Clusters and PGlite take seconds to start, and more on a busy machine.
    hookTimeout: 60_000,
    // By default one core stays idle.
    maxWorkers: "100%",
  },
});
