import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describeRequiring } from "@svc-webhooks/kit/requiring";
import { expect, onTestFinished, test } from "vitest";
import { nothing, nothingLeft, resultOf, start } from "./crash-testing.js";

const receiver = [
  "--start=python3 test/faults/crash-test/servers/receiver.py",
  "--event=email.delivered",
  "--secret-env=SIGNING_SECRET",
  "--stub=MAIL_URL",
];

/** Returns a path in a folder that exists until the test ends. */
function outsideFile(): string {
  const folder = mkdtempSync(join(tmpdir(), "svc-webhooks-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return join(folder, "crash-test.html");
}

const hasPython = spawnSync("python3", ["--version"]).status === 0;

/** The findings of each handler of `servers/receiver.py`, and where one fault has this result. */
const planted = [
  ["added last", { "duplicate POST MAIL_URL/send": ["crash@2", "response_lost@2"] }],
  [
    "added first",
    {
      "lost POST MAIL_URL/send": ["fail@1", "status@1"],
      "duplicate POST MAIL_URL/send": ["crash@2"],
    },
  ],
] as const;

describeRequiring("python3", hasPython)("a receiver in Python without this library", () => {
  test.each(planted)("ids in memory, %s: %j", async (handler, expected) => {
    const run = start([...receiver, "--json"], { HANDLER: handler });
    const { code, stdout, stderr } = await run.ended;
    expect([code, stderr]).toEqual([1, ""]);
    const { report } = resultOf(stdout);
    const cells = report.findings.map((one) => [`${one.kind} ${one.effect}`, one.cells]);
    expect(Object.fromEntries(cells)).toEqual(expected);
    expect(await nothingLeft(run)).toEqual(nothing);
  });

  test("one history is run again, with a page and a line for GitHub", async () => {
    const html = outsideFile();
    const run = start([...receiver, "--at=crash@2", "--html", html], { GITHUB_ACTIONS: "true" });
    const { code, stdout, stderr } = await run.ended;
    expect(code).toBe(1);
    expect(stdout).toMatch(/^ +Pass `context\.idempotencyKey` to `POST MAIL_URL\/send`\. If /m);
    expect(stdout).toMatch(/Repeat: --at crash@2$/m);
    expect(stderr).toMatch(/^::error title=duplicate POST MAIL_URL\/send::Pass .* --at crash@2$/m);
    const page = readFileSync(html, "utf8");
    expect(page).toContain("<code>--at crash@2</code>");
    expect(page).not.toMatch(/only:|<script|https?:\/\/(?!www\.w3\.org)/);
  });

  test("accepted findings are no failure, and one that does not occur is", async () => {
    const accepted = start([...receiver, "--accept=duplicate POST MAIL_URL/send"], {});
    expect(await accepted.ended).toMatchObject({ code: 0, stderr: "" });
    const unused = start(
      [...receiver, "--accept=duplicate POST MAIL_URL/send", "--accept=lost x"],
      {},
    );
    const { code, stderr } = await unused.ended;
    expect(code).toBe(1);
    expect(stderr).toMatch(/--accept names "lost x", which does not occur\. Remove it\./);
  });

  test("the time limit ends the command", async () => {
    const run = start([...receiver, "--time-limit=1s"], {});
    const { code, stderr } = await run.ended;
    expect(code).toBe(3);
    expect(stderr).toMatch(/time limit of 1s was reached .* Raise --time-limit/);
    expect(await nothingLeft(run)).toEqual(nothing);
  });
});
