import { readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { node, outsideDirectory, root } from "@svc-webhooks/kit/programs";
import { expect, test } from "vitest";
import { codeBlocks } from "../package/readme.js";

const page = join(root, "docs/crash-test.md");
const text = readFileSync(page, "utf8");
const directory = outsideDirectory();
symlinkSync(join(root, "node_modules"), join(directory, "node_modules"), "junction");
writeFileSync(join(directory, "package.json"), '{ "type": "module" }');

/** Runs a test file, and returns the report in its output. */
async function reportOf(code: string): Promise<string> {
  writeFileSync(join(directory, "orders.test.mjs"), code);
  const { stdout, stderr } = await node(["--test", "--test-reporter=spec", "orders.test.mjs"], {
    cwd: directory,
  });
  expect(stderr).toBe("");
  // The reporter indents an error.
  const [, indent = "", report = ""] =
    /^( *)(?:Error \[CrashTestError\]: |CrashTestError(?: \[\w+\])?: )?(crash test of [^]*?\n *Not seen by this test: .*)$/m.exec(
      stdout,
    ) ?? [];
  return report.replaceAll(new RegExp(`^${indent}`, "gm"), "").replaceAll(/ +$/gm, "");
}

/** Returns the code after the change that the page shows as a diff. */
function fixed(code: string): string {
  const [, removed = "", added = ""] = /^```diff\n-(.*)\n\+(.*)\n```$/m.exec(text) ?? [];
  expect(code).toContain(`${removed}\n`);
  return code.replace(`${removed}\n`, `${added}\n`);
}

const printing = (code: string) =>
  code
    .replace("await crashTest(", "const { text } = await crashTest(")
    .replace(/\n\}\);\n$/, "\n  console.log(text);\n});\n");

test("docs/crash-test.md shows the first report and that of the fix (-u writes them)", async () => {
  const [{ code } = { code: "" }] = codeBlocks("docs/crash-test.md");
  const reports = [await reportOf(code), await reportOf(printing(fixed(code)))];
  expect(reports[0]).toMatch(/^crash test of email\.delivered: 1 finding\n/);
  expect(reports[1]).toMatch(/^crash test of email\.delivered: no finding\n/);
  let at = 0;
  const written = text.replaceAll(
    /^```\n(?:crash test of [^]*?)?\n```$/gm,
    () => `\`\`\`\n${reports[at++]}\n\`\`\``,
  );
  expect(at).toBe(reports.length);
  await expect(written).toMatchFileSnapshot(page);
});
