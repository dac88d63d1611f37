import { readFileSync } from "node:fs";
import { join } from "node:path";
import { root } from "@svc-webhooks/kit/programs";
import { format, resolveConfig } from "prettier";
import { expect, test } from "vitest";
import { mistakes } from "../src/mistakes.js";

test("docs/debug-a-signature.md lists all mistakes (npx vitest run --config test/package/check.config.ts -u writes them)", async () => {
  const file = join(root, "docs/debug-a-signature.md");
  const entries = Object.entries(mistakes);
  const groups = [...new Set(entries.map(([, { fix }]) => fix))].map((fix) => ({
    fix,
    group: entries.filter(([, one]) => one.fix === fix),
  }));
  const list = (group: typeof entries, end: string) =>
    group.map(([id, { cause }]) => `- \`${id}\`: ${cause}${end}\n`).join("");
  const single = groups.filter(({ group }) => group.length < 3);
  const shared = groups.filter(({ group }) => group.length >= 3);
  const written = readFileSync(file, "utf8").replace(
    /^- `missing_header`[^]*/m,
    () =>
      single.map(({ fix, group }) => list(group, ` ${fix}`)).join("") +
      shared.map(({ fix, group }) => `\n**${fix}** This fixes:\n\n${list(group, "")}`).join(""),
  );
  const options = await resolveConfig(file);
  await expect(await format(written, { ...options, filepath: file })).toMatchFileSnapshot(file);
});
