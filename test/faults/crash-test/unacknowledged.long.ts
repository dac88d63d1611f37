import { expect, test } from "vitest";
import { resultOf, start } from "./crash-testing.js";

const common = [
  "--start",
  'exec node --input-type=module -e "$PROGRAM"',
  "--event=email.delivered",
  "--stub=PAY_URL",
];

/** A receiver whose variable remembers a failure, and which has an output. */
const remembers = `
  import { createServer } from "node:http";
  let isBroken = false;
  createServer(async (incoming, response) => {
    try {
      if (isBroken) throw new Error("the ledger is locked");
      await fetch(process.env.PAY_URL, { method: "POST" });
      response.end();
    } catch (error) {
      isBroken = true;
      console.error("\\u001b[31m" + error.message);
      response.writeHead(500).end();
    }
  }).listen(process.env.PORT, "127.0.0.1");`;

test("a stuck event is reported with the last lines that the server printed", async () => {
  const run = start([...common, "--faults=fail", "--json"], { PROGRAM: remembers });
  const { stdout, stderr } = await run.ended;
  expect(stderr).toBe("");
  const { report, findings } = resultOf(stdout);
  expect(findings).toContain("stuck evt_1");
  const lines = report.findings.flatMap(({ history }) => history.map(({ text }) => text));
  expect(lines).toContain("prints: fetch failed");
  expect(lines).toContain("prints: the ledger is locked");
  expect(report.text).toContain("prints: the ledger is locked");
});

const responding = (status: number) => `
  import { createServer } from "node:http";
  createServer((incoming, response) => {
    console.log("no such user");
    response.writeHead(${status}).end();
  }).listen(process.env.PORT, "127.0.0.1");`;

test.each([
  [401, ["--secret-env=SIGNING_SECRET"], /401\. .*signed with the secret in SIGNING_SECRET .*let/],
  [403, [], /403\. The deliveries are not signed\. .*--secret-env SVC_WEBHOOK_SECRET/],
  [500, [], /Run the server alone/],
])("an undisturbed %d is explained, with the last lines", async (status, args, text) => {
  for (const more of [[], ["--list"]]) {
    const run = start([...common, ...args, ...more], { PROGRAM: responding(status) });
    const { code, stderr } = await run.ended;
    expect(code).toBe(3);
    expect(stderr).toMatch(text);
    expect(stderr).toMatch(/Its last lines: no such user \|/);
  }
});

test("the error of a server that listens on another port names it, and the fix", async () => {
  const program = `
    import { createServer } from "node:http";
    const app = createServer().listen(0, "127.0.0.1", () => console.log(app.address().port));`;
  const run = start(common, { PROGRAM: program });
  const { code, stderr } = await run.ended;
  expect(code).toBe(3);
  const [, port] =
    /It listens on 127\.0\.0\.1:(\d+)\. Make it listen on .* PORT, or write/.exec(stderr) ?? [];
  expect(stderr).toContain(`Its last lines: ${port}`);
});
