import { writeFileSync } from "node:fs";
import { node, root } from "@svc-webhooks/kit/programs";
import { testPosix } from "@svc-webhooks/kit/systems";
import { expect, test } from "vitest";
import { cli, testInTerminal, inTerminal, json, newFile, shell, start } from "./support.js";

testPosix("serves the sandbox until Ctrl-C, and exits with 130", async () => {
  const { shows, output, interrupt } = start(["sandbox", "--port=0", "--set=A-06=allow"]);
  await shows(/\n/);
  const [, url = ""] =
    /^The sandbox serves the interface at (http:\S+)\n/.exec(output.stdout) ?? [];
  const response = await fetch(`${url}/v1/webhook-event-types`);
  expect(response.status).toBe(401);
  expect([await interrupt(), output.stderr]).toEqual([130, ""]);
});

test("--json writes the URL as JSON", async () => {
  const { shows, output } = start(["sandbox", "--port=0", "--json"]);
  await shows(/\n/);
  expect(JSON.parse(output.stdout)).toEqual({
    url: expect.stringMatching(/^http:\/\/127\.0\.0\.1:/),
  });
});

test("takes the options of the sandbox's own command", async () => {
  const options = (help: string) =>
    help.match(/^ {2}(?:-h, )?--[\w-]+(?: <.+?>)?/gm)?.map((one) => one.trim());
  const own = await node(["tools/sandbox/dist/main.js", "--help"], { cwd: root });
  const { stdout } = await cli(["sandbox", "--help"]);
  const shared = options(own.stdout)?.filter((one) => one !== "--version");
  expect(shared?.length).toBeGreaterThan(8);
  expect(options(stdout)).toEqual(shared);
});

test("--scenario prints the report and exits with 1 if an expectation is not met", async () => {
  const file = newFile();
  const request = { method: "GET", path: "/v1/webhook-events" };
  const write = (status: number) =>
    writeFileSync(
      file,
      JSON.stringify({ version: 1, name: "reads", steps: [{ request, status }] }),
    );
  write(200);
  const met = await json(["sandbox", "--scenario", file]);
  expect([met.code, met.value]).toEqual([
    0,
    {
      scenario: "reads",
      met: true,
      steps: 1,
      ran: 1,
      results: [{ step: 1, expected: "GET /v1/webhook-events responds with 200", met: true }],
    },
  ]);
  write(404);
  const { code, stdout } = await cli(["sandbox", "--scenario", file]);
  expect([code, stdout]).toEqual([
    1,
    "NOT MET step 1: GET /v1/webhook-events responds with 404\n        found: 1 × 200\nreads: 1 of 1 expectations were not met.\n",
  ]);
});

test.each([
  ["a scenario that does not exist", ["--scenario", "nothing"], /There is no scenario nothing\./],
  ["a scenario without the receiver", ["--scenario", "slow-receiver"], /Add --to URL\./],
  [
    "a scenario with an option of the server",
    ["--scenario", "slow-receiver", "--open"],
    /--open cannot be used with --scenario\./,
  ],
  ["a port that is not a number", ["--port", "web"], /--port must be/],
  ["an assumption that does not exist", ["--set", "A-99=x"], /A-99/],
  ["an unknown option", ["--prot=1"], /--prot is not an option\./],
])("wrong usage exits with 2: %s", async (_what, args, text) => {
  const { code, stdout, stderr } = await cli(["sandbox", ...args]);
  expect([code, stdout, stderr]).toEqual([2, "", expect.stringMatching(text)]);
  expect(stderr.match(/--help/g)).toHaveLength(1);
  const { error } = JSON.parse((await cli(["sandbox", ...args, "--json"])).stderr) as {
    readonly error: unknown;
  };
  expect(error).toEqual({
    code: "wrong_usage",
    message: expect.stringMatching(text),
    hint: expect.stringMatching(/svc-webhooks sandbox --help lists /),
  });
});

testInTerminal(
  "in a terminal it shows what to export and the page to open, and Ctrl-C stops it",
  async () => {
    const { code, output } = await inTerminal(
      shell("sandbox", "--port=0"),
      {},
      {
        after: /Press Ctrl-C to stop the sandbox/,
        type: "\u0003",
      },
    );
    expect([code, output]).toEqual([130, expect.stringContaining("export SVC_BASE_URL=http:")]);
    expect(output).toMatch(/^Open http:\/\/127\.0\.0\.1:\d+\/ in a browser to see /m);
  },
);

testPosix("a second Ctrl-C ends a stop that takes long", async () => {
  const stuck = newFile("stuck.mjs");
  writeFileSync(stuck, "import { Server } from 'node:http'; Server.prototype.close = () => {};");
  const { child, shows, output, ended } = start(["sandbox", "--port=0"], {
    NODE_OPTIONS: `--import=${stuck}`,
  });
  await shows(/\n/);
  child.kill("SIGINT");
  await shows(/^Stopping\. Press Ctrl-C again to stop immediately\.\n$/, "stderr");
  child.kill("SIGINT");
  expect((await ended).code).toBe(130);
  expect(output.stderr).toBe("Stopping. Press Ctrl-C again to stop immediately.\n");
});
