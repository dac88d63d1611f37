import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { node, root } from "@svc-webhooks/kit/programs";
import { describe, expect, onTestFinished, test } from "vitest";

const fileOf = (name: string) => `test/ci/planted/${name}.planted.ts`;

/** Runs planted files as `.ci/run` runs a suite. */
async function runPlanted(names: readonly string[], env: NodeJS.ProcessEnv = {}) {
  const reports = mkdtempSync(join(tmpdir(), "svc-webhooks-reports-"));
  onTestFinished(() => rmSync(reports, { recursive: true }));
  const { exitCode, stdout } = await node(["test/ci/run.js", "test/ci/planted/vitest.config.ts"], {
    cwd: root,
    env: { PLANTED: names.join(","), SVC_REPORTS: reports, ...env },
  });
  const lines = stdout.trimEnd().split("\n");
  const last = lines.findLastIndex((line) => /^\d+ passed, /.test(line));
  return {
    exitCode,
    counts: lines[last],
    /** The last lines, without the errors. */
    lines: lines.slice(last + 1).map((line) => /^.*?\.ts › [^:]*|^.*/.exec(line)?.[0]),
    report: readFileSync(join(reports, "flaky.md"), "utf8"),
    hasRunAgain: stdout.includes("\n> again: "),
  };
}

describe("a run is green, and reports the file", () => {
  test("if a server starts only in the second run", async () => {
    const { report, ...run } = await runPlanted(["late"]);
    expect(run).toEqual({
      exitCode: 0,
      counts: "1 passed, 0 failed, 0 skipped",
      lines: [`flaky: ${fileOf("late")} › the server responds`],
      hasRunAgain: true,
    });
    expect(report).toMatch(/^- flaky: test\S+ › the server responds: \S.* exited with code 1\.\n$/);
  });

  test("if this happens to two files", async () => {
    const { exitCode, lines } = await runPlanted(["late", "later"]);
    expect({ exitCode, lines: lines.length }).toEqual({ exitCode: 0, lines: 2 });
  });
});

describe("a run is red", () => {
  test("if a server does not start in the second run either", async () => {
    expect(await runPlanted(["never"])).toEqual({
      exitCode: 1,
      counts: "0 passed, 1 failed, 0 skipped",
      lines: [
        `red: ${fileOf("never")} › the server responds`,
        `red again: ${fileOf("never")} › the server responds`,
      ],
      report: "",
      hasRunAgain: true,
    });
  });

  test("if the second run takes too long", async () => {
    const { lines, ...run } = await runPlanted(["hanging"], { SVC_SECOND_LOOKS_MS: "1500" });
    expect(run).toMatchObject({ exitCode: 1, report: "", hasRunAgain: true });
    expect(lines).toEqual([
      `red: ${fileOf("hanging")} › the server responds`,
      expect.stringMatching(/^red: Vitest exited with /),
    ]);
  });

  test.each([
    ["an assertion fails once", ["once"], "› an assertion fails once"],
    [
      "one fails in a file that also lacks a server",
      ["late-and-once"],
      "› an assertion fails once",
    ],
    ["a rejection is not handled", ["unhandled"], "red: an error outside of tests: "],
    ["three files fail", ["late", "later", "latest"], "red: more than 2 files failed"],
  ])("immediately, if %s", async (_what, names, line) => {
    const { exitCode, lines, report, hasRunAgain } = await runPlanted(names);
    expect({ exitCode, report, hasRunAgain }).toEqual({
      exitCode: 1,
      report: "",
      hasRunAgain: false,
    });
    expect(lines.at(-1)).toContain(line);
  });

  test("if Vitest ends before it has results", async () => {
    const { exitCode, lines, hasRunAgain } = await runPlanted(["absent"]);
    expect({ exitCode, hasRunAgain }).toEqual({ exitCode: 1, hasRunAgain: false });
    expect(lines).toEqual([expect.stringMatching(/^red: Vitest exited with 1/)]);
  });
});
