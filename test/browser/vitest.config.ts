import { defineConfig } from "vitest/config";

/** What runs in a real browser, which is not on every machine. */
export default defineConfig({
  test: {
    include: ["test/browser/**/*.browser.ts"],
    testTimeout: 60_000,
    // The browser shares its cores with the servers.
    expect: { poll: { timeout: 15_000 } },
    // A browser uses all cores, and some tests measure time.
    fileParallelism: false,
  },
});
