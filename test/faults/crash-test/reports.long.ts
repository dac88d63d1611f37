import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { nothing, nothingLeft, resultOf, start } from "./crash-testing.js";

const forwarding = "exec node test/faults/crash-test/servers/forwarding.js";

const args = (server = forwarding): readonly string[] => [
  `--start=${server}`,
  "--event=email.delivered",
  "--secret-env=SIGNING_SECRET",
  "--stub=LEDGER_URL",
];

const folder = (): string => {
  const path = mkdtempSync(join(tmpdir(), "svc-webhooks-"));
  onTestFinished(() => rmSync(path, { recursive: true, force: true }));
  return path;
};

test("a service that is named but never used is in the report and in a note", async () => {
  const run = start([...args(), "--stub=MAIL_URL", "--at=response_lost@2", "--json"], {});
  const { stdout, stderr } = await run.ended;
  expect(stderr).toBe(
    "MAIL_URL was named but never used, so no fault is tried there. Check that your server reads this variable.\n",
  );
  const { report } = resultOf(stdout);
  expect(report.unused).toEqual(["MAIL_URL"]);
  expect(report.text).toContain("\nNamed but never used: MAIL_URL.\n");
  expect(await nothingLeft(run)).toEqual(nothing);
});

describe("the report is printed", () => {
  test("before the page, which cannot be written any more", async () => {
    const path = folder();
    const server = `rm -rf ${path}; ${forwarding}`;
    const page = `--html=${join(path, "page.html")}`;
    const run = start([...args(server), page, "--at=response_lost@2"], {});
    const { code, stdout, stderr } = await run.ended;
    expect(stdout).toContain("✗ duplicate POST LEDGER_URL/entries");
    expect(stderr).toMatch(/--html cannot be written: .* Check the path\./);
    expect(code).toBe(2);
  });

  test("with the findings so far when the time limit is reached", async () => {
    const server = `${forwarding} --hang-on-failure`;
    const run = start(
      [...args(server), "--time-limit=40s", "--faults=crash,response_lost", "--json"],
      {},
    );
    const { code, stdout, stderr } = await run.ended;
    const { report, findings } = resultOf(stdout);
    expect(findings).toEqual(["duplicate POST LEDGER_URL/entries"]);
    expect(report.findings[0]?.repeat).toBe("crash@2");
    expect(report.tried).toEqual([{ faults: 1, run: 2, of: 3 }]);
    expect(report.text).toContain("The test ended early, so these findings were not run again.");
    expect(JSON.parse(stderr)).toMatchObject({ error: { code: "time_limit" } });
    expect(code).toBe(3);
    expect(await nothingLeft(run)).toEqual(nothing);
  });
});
