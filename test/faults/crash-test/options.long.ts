import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { freePort } from "@svc-webhooks/kit/free-port";
import { describeWithPostgres } from "@svc-webhooks/kit/postgres-server";
import { describeWithRedis, redisServer } from "@svc-webhooks/kit/redis-server";
import { listen } from "@svc-webhooks/kit/servers";
import { senders } from "@svc-webhooks/schemes/senders";
import { fixture } from "@svc-webhooks/testing";
import { describe, expect, onTestFinished, test } from "vitest";
import { deliver, listening } from "../../../tools/cli/test/listening.js";
import { secret } from "../../../tools/cli/test/support.js";
import { nothing, nothingLeft, resultOf, serverWithTables, start } from "./crash-testing.js";

test("--deliver sends what `listen --save` has saved, and --through forwards to a service here", async () => {
  const folder = mkdtempSync(join(tmpdir(), "svc-webhooks-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const file = join(folder, "saved.jsonl");
  const { url, received } = await listening(["--save", file], { SECRET: secret });
  await deliver(url, fixture("email.delivered"), { deliveryId: "dlv_saved_1" });
  await expect.poll(() => received().length).toBe(1);

  const entries: string[] = [];
  const port = await listen(async (request, response) => {
    entries.push(`${request.method} ${request.url} ${await text(request)}`);
    response.end();
  });
  const run = start(
    [
      "--start=exec node test/faults/crash-test/servers/forwarding.js",
      `--deliver=${file}`,
      "--secret-env=SIGNING_SECRET",
      "--through=LEDGER_URL",
      "--json",
    ],
    { LEDGER_URL: `http://127.0.0.1:${port}`, SIGNING_SECRET: secret },
  );
  const { stdout, stderr } = await run.ended;
  expect(stderr).toBe("");
  const { report, findings } = resultOf(stdout);
  expect([report.events, findings]).toEqual([
    ["email.delivered"],
    ["duplicate POST LEDGER_URL/entries"],
  ]);
  expect(report.findings[0]?.cells).toEqual(["crash@2", "response_lost@2"]);
  expect(new Set(entries)).toEqual(new Set(["POST /entries dlv_saved_1"]));
  expect(await nothingLeft(run)).toEqual(nothing);
});

test("a --url without {port} is that of all servers, one after the other", async () => {
  const run = start(
    [
      `--url=http://127.0.0.1:${await freePort()}/webhooks`,
      "--start=exec node test/faults/crash-test/servers/forwarding.js",
      "--event=email.delivered",
      "--secret-env=SIGNING_SECRET",
      "--stub=LEDGER_URL",
      "--faults=crash",
      "--json",
    ],
    {},
  );
  const { stdout, stderr } = await run.ended;
  expect(stderr).toBe("");
  expect(resultOf(stdout).findings).toEqual(["duplicate POST LEDGER_URL/entries"]);
  expect(await nothingLeft(run)).toEqual(nothing);
});

describeWithRedis("--effects", () => {
  test("compares the output of a command, which gets the server of the history", async () => {
    const redis = await redisServer();
    onTestFinished(() => redis.close());
    const run = start(
      [
        "--start=exec node test/faults/crash-test/servers/redis.js",
        "--event=email.delivered",
        "--through=REDIS_URL",
        '--effects=redis-cli -u "$REDIS_URL" get mails:sent',
        "--faults=response_lost",
        "--json",
      ],
      { REDIS_URL: `redis://127.0.0.1:${redis.port}/1` },
    );
    const { stdout, stderr } = await run.ended;
    expect(stderr).toBe("");
    expect(resultOf(stdout).findings.toSorted()).toEqual([
      "different --effects",
      "duplicate INCR mails",
    ]);
    expect(await nothingLeft(run)).toEqual(nothing);
  });

  test("runs the command with the stubs in place of the real services", async () => {
    const requests: string[] = [];
    const port = await listen((request, response) => {
      requests.push(`${request.method} ${request.url}`);
      response.end();
    });
    const read = `fetch(process.env.LEDGER_URL + "/count", { method: "POST" })`;
    const run = start(
      [
        "--start=exec node test/faults/crash-test/servers/forwarding.js",
        "--event=email.delivered",
        "--secret-env=SIGNING_SECRET",
        "--stub=LEDGER_URL",
        `--effects=node -e '${read}.then(({ status }) => console.log(status))'`,
        "--list",
      ],
      { LEDGER_URL: `http://127.0.0.1:${port}` },
    );
    const { code, stdout } = await run.ended;
    expect(code).toBe(0);
    expect(stdout).toContain("POST LEDGER_URL/entries");
    expect(stdout).not.toContain("LEDGER_URL/count");
    expect(requests).toEqual([]);
    expect(await nothingLeft(run)).toEqual(nothing);
  });

  test("ends the test if the command fails", async () => {
    const run = start(
      [
        "--start=exec node test/faults/crash-test/servers/forwarding.js",
        "--event=email.delivered",
        "--secret-env=SIGNING_SECRET",
        "--stub=LEDGER_URL",
        "--effects=echo no table; exit 4",
      ],
      {},
    );
    const { code, stderr } = await run.ended;
    expect(code).toBe(3);
    expect(stderr).toMatch(/--effects ended with exit code 4\. .* no table/);
  });
});

describeWithPostgres("--template", () => {
  test("allows a database that is not certainly on this machine", async () => {
    const server = await serverWithTables();
    onTestFinished(() => server.close());
    const args = [
      "--start=node test/faults/crash-test/servers/express.js",
      "--event=email.delivered",
      "--secret-env=SIGNING_SECRET",
      "--through=DATABASE_URL",
      "--stub=PAY_URL",
      "--stub=MAIL_URL",
      "--list",
    ];
    // A name that only a resolver knows to be this machine.
    const env = { DATABASE_URL: server.url.replace("127.0.0.1", "127.1"), HANDLER: "correct" };
    const refused = start(args, env);
    const { code, stderr } = await refused.ended;
    expect(code).toBe(2);
    expect(stderr).toMatch(/on another machine: 127\.1:\d+\. .*--template DATABASE_URL/);
    const run = start([...args, "--template=DATABASE_URL"], env);
    const result = await run.ended;
    expect(result.code).toBe(0);
    expect(result.stderr).toMatch(/^MAIL_URL was named but never used, .*\n$/);
    expect(result.stdout).toContain("insert into orders");
    expect(await nothingLeft(run, server)).toEqual(nothing);
  });
});

describe("--scheme", () => {
  const program = (scheme: string) => `
    import { createServer } from "node:http";
    import { createReceiver } from "@svc-webhooks/core";
    import { webhooks } from "@svc-webhooks/node";
    import { ${scheme} } from "@svc-webhooks/schemes";
    const { SENDER_KEY: secret, PAY_URL, PORT } = process.env;
    const pay = async (_event, { idempotencyKey }) => {
      const headers = { "Idempotency-Key": idempotencyKey };
      const { ok } = await fetch(PAY_URL, { method: "POST", headers });
      if (!ok) throw new Error("not paid");
    };
    const receiver = createReceiver({ scheme: ${scheme}(), secret, on: { "*": pay } });
    createServer(webhooks(receiver)).listen(PORT, "127.0.0.1");`;

  test.each(["stripe", "sendgrid"])("signs as %s does, with a new key", async (scheme) => {
    const run = start(
      [
        '--start=exec node --input-type=module -e "$PROGRAM"',
        `--scheme=${scheme}`,
        "--event=payment.succeeded",
        "--secret-env=SENDER_KEY",
        "--stub=PAY_URL",
        "--faults=response_lost",
        "--json",
      ],
      { PROGRAM: program(scheme) },
    );
    const { code, stdout, stderr } = await run.ended;
    expect([code, stderr]).toEqual([0, ""]);
    expect(resultOf(stdout).report.keyed).toEqual(["POST PAY_URL"]);
    expect(await nothingLeft(run)).toEqual(nothing);
  });

  test("signs a delivery that `listen --scheme --save` has saved again, at the time of each attempt", async () => {
    const folder = mkdtempSync(join(tmpdir(), "svc-webhooks-"));
    onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
    const file = join(folder, "saved.jsonl");
    const { url, received } = await listening(["--scheme=stripe", "--save", file], {
      SECRET: secret,
    });
    const body = JSON.stringify({ id: "evt_saved_1", type: "invoice.paid" });
    // Too old for the receiver, if the command did not sign it again.
    const headers = await senders.stripe.sign(body, { secret, at: Date.now() - 7_200_000 });
    await fetch(url, { method: "POST", headers, body });
    await expect.poll(() => received().length).toBe(1);
    const run = start(
      [
        '--start=exec node --input-type=module -e "$PROGRAM"',
        "--scheme=stripe",
        `--deliver=${file}`,
        "--secret-env=SENDER_KEY",
        "--stub=PAY_URL",
        "--faults=response_lost",
        "--json",
      ],
      { PROGRAM: program("stripe") },
    );
    const { code, stdout, stderr } = await run.ended;
    expect([code, stderr]).toEqual([0, ""]);
    const { report } = resultOf(stdout);
    expect([report.events, report.keyed]).toEqual([["invoice.paid"], ["POST PAY_URL"]]);
    expect(await nothingLeft(run)).toEqual(nothing);
  });
});
