import { gzipSync } from "node:zlib";
import { rolldown } from "rolldown";
import { describe, expect, test } from "vitest";
import { root } from "./support/package-tools.js";
import { packagesOfKind } from "./support/workspace.js";

/**
 * Bytes of a package's own code, minified and gzipped. A store speaks another server's protocol, an
 * adapter converts: the largest of each took 2,587 and 867 bytes in November 2026.
 */
const budgets = { adapter: 1_500, store: 2_700 } as const;

describe.each(["adapter", "store"] as const)("an %s", (kind) => {
  const entries = packagesOfKind(kind).flatMap((one) => one.entries);

  test.each(entries)("is small: %s", async (entry) => {
    const bundle = await rolldown({
      input: entry,
      cwd: root,
      external: (id, importer) => importer !== undefined && !/^[./]/.test(id),
      platform: "neutral",
    });
    const { output } = await bundle.generate({ format: "esm", minify: true });
    expect(output).toHaveLength(1);
    const { length } = gzipSync(output[0].code, { level: 9 });
    // An entry that only passes on what others export would be no code of its own.
    expect(length).toBeGreaterThan(100);
    expect(length).toBeLessThanOrEqual(budgets[kind]);
  });
});
