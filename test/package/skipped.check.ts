import { join } from "node:path";
import { format, resolveConfig } from "prettier";
import { expect, test } from "vitest";
import { root } from "@svc-webhooks/kit/programs";
import { endings, filesOf, textOf } from "../suites.js";

const suites = Object.keys(endings) as (keyof typeof endings)[];
const files = suites.flatMap(filesOf);

/** The systems that skip a test, by the end of the function's name in `test/kit/systems.ts`. */
const systems: Readonly<Record<string, string>> = { Posix: "Windows", Linux: "Windows, macOS" };

/** Returns the tests in a file that some systems skip, with their titles. */
function skippedIn(text: string): readonly (readonly [title: string, systems: string])[] {
  const calls = text.matchAll(/\b(?:test|describe)(Posix|Linux)(\.\w+)?\(/g);
  return Array.from(calls, ({ index, 0: call, 1: kind = "", 2: each }) => {
    const rest = text.slice(index + call.length);
    // The title of a table of tests is in the call behind the table.
    const title = (each ? /\)\(\s*"((?:[^"\\]|\\.)*)"/ : /^\s*"((?:[^"\\]|\\.)*)"/).exec(rest)?.[1];
    if (title === undefined) throw new Error(`The title of ${call} is not a text in quotes.`);
    return [title, systems[kind] ?? ""];
  });
}

test("test/skipped.md lists the tests that other systems skip (npx vitest run --config test/package/check.config.ts -u writes it)", async () => {
  const rows = files
    .toSorted()
    .flatMap((file) =>
      skippedIn(textOf(file)).map(
        ([title, where]) => `| ${file} | ${title.replaceAll("|", "\\|")} | ${where} |`,
      ),
    );
  expect(rows.length).toBeGreaterThan(50);
  const page = join(root, "test/skipped.md");
  const text = `# Skipped tests

These tests are skipped on Windows, or on Windows and macOS, because they need a POSIX shell, signals, file modes, or Linux itself. A row can stand for a whole group or table of tests. On a machine that lacks a tool, such as \`redis-server\` or \`chromium\`, the tests that need it are skipped too, unless \`SVC_TEST_TOOLS\` is \`all\`. Each run prints the names of all tests that it has skipped.

| file | test | skipped on |
| --- | --- | --- |
${rows.join("\n")}
`;
  const options = await resolveConfig(page);
  await expect(await format(text, { ...options, filepath: page })).toMatchFileSnapshot(page);
});

/** Ways to skip a test that the list would not have, and another way to read whether tools are required. */
const direct = /\b(?:skipIf|runIf)\(|\bprocess\.platform\b|\benv(?:\.CI\b|\["CI"\])/;

/** Runs one more test of one project. No system skips it. */
const exception = "test/frameworks/frameworks.matrix.ts";

test("tests are skipped by the functions of test/kit alone", () => {
  const others = files.filter((file) => file !== exception && !file.startsWith("test/kit/"));
  expect(others.filter((file) => direct.test(textOf(file)))).toEqual([]);
});
