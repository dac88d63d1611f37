import { gzipSync } from "node:zlib";
import { rolldown } from "rolldown";
import { describe, expect, test } from "vitest";
import { root } from "@svc-webhooks/kit/programs";
import { packagesOfKind } from "@svc-webhooks/kit/workspace";

/**
 * Maximum size of a package's own code in bytes, minified and gzipped. In November 2026, the largest
 * adapter has 1,611: a third of it names the middleware that has consumed a body.
 */
const budgets = { adapter: 1_620, store: 2_700 } as const;

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
    // A smaller bundle would mean that the package's own code is not included.
    expect(length).toBeGreaterThan(100);
    expect(length).toBeLessThanOrEqual(budgets[kind]);
  });
});
