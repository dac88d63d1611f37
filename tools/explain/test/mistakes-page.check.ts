import { readFileSync } from "node:fs";
import { join } from "node:path";
import { root } from "@svc-webhooks/kit/programs";
import { format, resolveConfig } from "prettier";
import { expect, test } from "vitest";
import { mistakes } from "../src/mistakes.js";

test("docs/debug-a-signature.md lists all mistakes (npx vitest run --config test/package/check.config.ts -u writes them)", async () => {
  const file = join(root, "docs/debug-a-signature.md");
  const rows = Object.entries(mistakes).map(
    ([id, { cause, fix }]) => `| \`${id}\` | ${cause} | ${fix} |\n`,
  );
  const table = `| mistake | cause | fix |\n| --- | --- | --- |\n${rows.join("")}`;
  const written = readFileSync(file, "utf8").replace(
    /^\| mistake .*\|\n(?:\|.*\|\n)*/m,
    () => table,
  );
  const options = await resolveConfig(file);
  await expect(await format(written, { ...options, filepath: file })).toMatchFileSnapshot(file);
});
