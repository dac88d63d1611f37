import { writeFileSync } from "node:fs";
import { freePort } from "@svc-webhooks/kit/free-port";
import { openSandbox } from "@svc-webhooks/kit/sandboxes";
import { listen } from "@svc-webhooks/kit/servers";
import type { SandboxOptions } from "@svc-webhooks/sandbox";
import { testPosix } from "@svc-webhooks/kit/systems";
import { describe, expect, test } from "vitest";
import { cli, testInTerminal, inTerminal, json, newFile, shell, start } from "./support.js";

type Item = Readonly<Record<string, string>>;

async function service(options: SandboxOptions = {}) {
  const { sandbox, url } = await openSandbox(options);
  const env = { SVC_BASE_URL: url, SVC_API_KEY: "svc_key" };
  return {
    sandbox,
    url,
    env,
    /** Runs a command line: its words, then arguments that may contain spaces. */
    run: (words: string, ...args: readonly string[]) =>
      cli([...words.split(" "), ...args], { env }),
    json: (words: string, ...args: readonly string[]) =>
      json([...words.split(" "), ...args], "", env),
  };
}

const email =
  "service emails send --from ada@mail.example.test --to grace@example.test --text Hello";
const subject = "--subject=Your receipt";

async function withFailures(count: number) {
  const opened = await service({ assumptions: { "A-09": "none" } });
  const created = await opened.json(
    "service endpoints create --url http://127.0.0.1:9/ --event email.sent",
  );
  const { webhook_endpoint_id: id = "" } = created.value["webhook_endpoint"] as Item;
  for (let n = 0; n < count; n += 1) await opened.run(email, subject);
  await opened.sandbox.clock.advance(0);
  return { ...opened, id };
}

test("an email is sent, awaited and shown", async () => {
  const { sandbox, run, json: value } = await service();
  const sent = await value(email, subject);
  expect(sent.value).not.toHaveProperty("idempotencyKey");
  expect(sent).toMatchObject({
    code: 0,
    value: { status: "accepted", subject: "Your receipt", idempotency_key: expect.any(String) },
  });
  await sandbox.clock.advance(0);
  const { code, stdout } = await run(`service sends get ${String(sent.value["send_id"])} --wait`);
  expect(code).toBe(0);
  expect(stdout).toMatch(/^send_id +send_\w+\nstatus +delivered\n/);
});

const bodiless = "service emails send --from ada@mail.example.test --to grace@example.test";

test.each([
  ["--html", ["--html=<p>Hello</p>"]],
  ["--html and an empty --text", ["--html=<p>Hello</p>", "--text="]],
  ["--text and an empty --html", ["--html=", "--text=Hello"]],
  ["--text and --html", ["--html=<p>Hello</p>", "--text=Hello"]],
  ["--html-file", ["--html-file={file}"]],
  ["--text-file", ["--text-file={file}"]],
  ["--text-file and --html-file", ["--html-file={file}", "--text-file={file}"]],
])("an email has the bodies that are given: %s", async (_what, options) => {
  const { run } = await service();
  const file = newFile("body.txt");
  writeFileSync(file, "Grüße aus Köln");
  const bodies = options.map((one) => one.replace("{file}", file));
  const { code, stderr } = await run(bodiless, subject, ...bodies);
  expect([stderr, code]).toEqual(["", 0]);
});

test.each([[[]], [["--text="]], [["--html=", "--text="]]])(
  "an email without a body is wrong usage: %j",
  async (bodies: readonly string[]) => {
    const { run } = await service();
    const { code, stderr } = await run(bodiless, subject, ...bodies);
    expect(stderr).toMatch(
      /^svc-webhooks service emails send: The email has no body\. Add --text or --html/,
    );
    expect(code).toBe(2);
  },
);

test("an email with one idempotency key is sent once", async () => {
  const { json: value } = await service();
  const once = () => value(`${email} --idempotency-key order-1`, subject);
  const [first, second] = [await once(), await once()];
  expect(second.value["send_id"]).toBe(first.value["send_id"]);
});

test("bodies are read from files, exactly", async () => {
  const { url, json: value } = await service();
  const file = newFile("mail.html");
  writeFileSync(file, "<p>Grüße\r\n</p>\n");
  const sent = await value(`${email} --html-file ${file}`, subject);
  const html = await fetch(`${url}/_sandbox/sends/${String(sent.value["send_id"])}/html`);
  expect(await html.text()).toBe("<p>Grüße\r\n</p>\n");
});

test("service emails send --wait exits with 1 unless the email is delivered", async () => {
  const { run } = await service({ clock: "real" });
  const { code, stdout } = await run(
    "service emails send --wait --from ada@mail.example.test --to bounced@example.test --text Hello",
    subject,
  );
  expect([code, stdout]).toEqual([1, expect.stringMatching(/status +bounced/)]);
});

test("a domain is added and verified", async () => {
  const { json: value } = await service();
  const added = await value("service domains add mail.example.test");
  expect(added.value).toMatchObject({ domain_name: "mail.example.test", status: "pending" });
  const verified = await value(`service domains verify ${String(added.value["domain_id"])}`);
  expect(verified).toMatchObject({ code: 0, value: { status: "verified" } });
});

test("an endpoint is registered, rotated and archived, and stdout has each secret once", async () => {
  const { json: value, run } = await service();
  const url = "http://127.0.0.1:9/";
  const created = await value(
    `service endpoints create --url ${url} --event email.sent --event email.delivered`,
  );
  const { webhook_endpoint_id: id = "", status } = created.value["webhook_endpoint"] as Item;
  expect(status).toBe("active");
  expect(created.value["secret"]).toMatch(/^whsec_/);
  const rotated = await run(`service endpoints rotate-secret ${id}`);
  expect(rotated.stdout.match(/whsec_\S+/g)).toHaveLength(1);
  expect(rotated.stdout).not.toContain(created.value["secret"]);
  expect(rotated.stderr).toBe("");
  const archived = await value(`service endpoints archive ${id}`);
  expect(archived.value).toMatchObject({ webhook_endpoint_id: id, status: "archived" });
});

test.each([
  ["service domains verify dom_1", { domain_id: "dom_1" }, "domain_id  dom_1\n"],
  ["service events redeliver evt_1", { event_id: "evt_1" }, "event_id  evt_1\n"],
])("%s prints the id if the response has no body", async (words, expected, text) => {
  const port = await listen((_request, response) => response.writeHead(204).end());
  const env = { SVC_BASE_URL: `http://127.0.0.1:${port}`, SVC_API_KEY: "svc_key" };
  expect(await json(words.split(" "), "", env)).toMatchObject({ code: 0, value: expected });
  expect((await cli(words.split(" "), { env })).stdout).toBe(text);
});

test("deliveries are listed by status and endpoint, and redelivered", async () => {
  const { json: value, run, id } = await withFailures(3);
  const failed = await value(`service events list --status failed --endpoint ${id} --limit 2`);
  const data = failed.value["data"] as readonly Item[];
  expect(data.map(({ status }) => status)).toEqual(["failed", "failed"]);
  const one = await value(`service events redeliver ${data[0]?.["event_id"]}`);
  expect(one).toMatchObject({ code: 0, value: { status: "pending" } });
  const table = await run("service events list");
  expect(table.stdout.split("\n")).toHaveLength(1 + 3 + 1);
  expect(table.stdout).toMatch(/^event_id +type +status +attempts/);
});

testInTerminal("statuses of deliveries have colors in a terminal", async () => {
  const { env } = await withFailures(1);
  const { output } = await inTerminal(shell("service", "events", "list"), env);
  expect(output).toContain(" \u001b[31mfailed\u001b[39m ");
});

test("all failed deliveries are redelivered, after they were counted", async () => {
  const { json: value, run, id } = await withFailures(3);
  expect((await run(`service events redeliver-failed ${id} --dry-run`)).stdout).toBe(
    "3 would be redelivered.\n",
  );
  expect((await value(`service events redeliver-failed ${id} --dry-run`)).value).toEqual({
    would_redeliver: 3,
  });
  expect((await value(`service events redeliver-failed ${id} --max 1`)).value).toEqual({
    redelivered: 1,
    skipped: 0,
    failed: 0,
  });
  const { code, stdout, stderr } = await run(`service events redeliver-failed ${id}`);
  expect([code, stdout, stderr]).toEqual([0, "3 redelivered, 0 skipped, 0 failed\n", ""]);
});

testInTerminal("a terminal shows a progress bar", async () => {
  const { id, env } = await withFailures(2);
  const { output } = await inTerminal(shell("service", "events", "redeliver-failed", id), env);
  expect(output).toMatch(/\[#{15}-{15}\] 50 % {2}1 redelivered/);
});

test("the event types are listed", async () => {
  const { json: value } = await service();
  const { data } = (await value("service event-types list")).value as { data: readonly Item[] };
  expect(data.map(({ type }) => type)).toEqual(["email.sent", "email.delivered", "domain.updated"]);
});

test.each(["email.sent", "email.delivered", "domain.updated"])(
  "trigger raises %s",
  async (type) => {
    const { json: value, sandbox } = await service();
    await value(`service endpoints create --url http://127.0.0.1:9/ --event ${type}`);
    expect(await value(`service trigger ${type}`)).toMatchObject({ code: 0, value: { type } });
    await sandbox.clock.advance(0);
    const { data } = (await value("service events list")).value as { data: readonly Item[] };
    expect(data.map((event) => event["type"])).toEqual([type]);
  },
);

test("a response that is too large is refused without an option that no command has", async () => {
  const port = await listen((_request, response) => response.end(" ".repeat(2 ** 20 + 1)));
  const env = { SVC_BASE_URL: `http://127.0.0.1:${port}` };
  const { code, stderr } = await cli(["service", "sends", "get", "send_1"], { env });
  expect([code, stderr]).toEqual([
    1,
    "svc-webhooks service sends get: The response is larger than 1 MiB. The request was processed. Check SVC_BASE_URL or --base-url: another program may be listening there.\n",
  ]);
});

describe("a refusal is one line with its fix", () => {
  test.each([
    ["service sends get send_x", 1, /There is no such send_id\./],
    ["service sends get", 2, /The argument <send_id> is missing\./],
    [
      "service emails send --from a@b.test --to c@d.test --subject x",
      2,
      /no body\. Add --text or --html,/,
    ],
    [
      "service emails send --from  --to c@d.test --subject x --text y",
      2,
      /: --from must be an address\./,
    ],
    ["service emails send --from a@b.test --to  --subject x --text y", 2, /--to is missing\./],
    [
      "service event-types list --base-url http://127.0.0.1/v1",
      2,
      /: --base-url \(or SVC_BASE_URL\) must be the URL before \/v1/,
    ],
    ["service emails send --from a@b.test --subject x --text y", 2, /--to is missing\./],
    ["service endpoints create --url http://127.0.0.1:9/", 2, /--event is missing\./],
    ["service endpoints create --url  --event email.sent", 2, /: --url must be a URL\./],
    ["service endpoints create --url http://example.com/ --event email.sent", 1, /url/i],
    ["service events list --limit 0", 2, /--limit must be a whole number from 1 to 10000\./],
    ["service trigger email.opened", 2, /Use email\.sent, email\.delivered, or domain\.updated\./],
    ["service trigger email.sent --base-url http://192.0.2.1/", 2, /add --allow-external/],
    [
      "service event-types list --base-url http://192.0.2.1/",
      2,
      /unencrypted .+https.+--allow-external/,
    ],
    ["listen --base-url http://192.0.2.1/", 2, /unencrypted/],
    ["service event-types list --api-key-env svc_key", 2, /Write .* --api-key-env SVC_API_KEY/],
    [
      "service domains",
      2,
      /: `service domains` needs a subcommand: add, list, or verify\. svc-webhooks service domains --help/,
    ],
    ["service emails", 2, /: `service emails` needs a subcommand: send\./],
    [
      "service emails sned x",
      2,
      /: The command service emails sned does not exist\. Did you mean `service emails send`\?/,
    ],
    [
      "service domains xyz x",
      2,
      /xyz does not exist\. `service domains` needs a subcommand: add, list, or verify\./,
    ],
    [
      "service emails send --from a@b.test --to Bob<b@c.test> --subject x --text y",
      1,
      /: --to must be an/,
    ],
    [
      "service emails send --from a@b.test --to c@d.test --to Bob --subject x --text y",
      1,
      /: --to number 2 must be an email address/,
    ],
    ["service events redeliver evt_x", 1, /There is no webhook event evt_x\./],
  ])("%s: exit code %d", async (words, wanted, text) => {
    const { run } = await service();
    const { code, stdout, stderr } = await run(words);
    expect([code, stdout]).toEqual([wanted, ""]);
    expect(stderr).toMatch(text);
    expect(stderr.trimEnd().split("\n")).toHaveLength(1);
    expect(stderr).not.toContain("svc_key");
  });

  test.each([
    [
      "http://127.0.0.1",
      /^svc-webhooks service event-types list: Nothing is listening at \S+\d\. Start the sandbox/,
    ],
    // The address refuses connections and is not known as loopback.
    [
      "https://0.0.0.0",
      /^svc-webhooks service event-types list: Nothing is listening at \S+\d\. Check SVC_BASE_URL/,
    ],
  ])("%s with nothing at its port", async (host, text) => {
    const env = { SVC_BASE_URL: `${host}:${await freePort()}`, SVC_API_KEY: "svc_key" };
    const { code, stderr } = await cli(["service", "event-types", "list"], { env });
    expect([code, stderr]).toEqual([1, expect.stringMatching(text)]);
    if (host.includes("0.0.0.0")) expect(stderr).not.toContain("sandbox");
  });

  test("a service elsewhere gets the API key over http only with --allow-external", async () => {
    const { run, url } = await service({ allowHosts: ["0.0.0.0"] });
    const list = `service event-types list --base-url ${url.replace("127.0.0.1", "0.0.0.0")}`;
    expect([(await run(list)).code, (await run(`${list} --allow-external`)).code]).toEqual([2, 0]);
  });

  test("without an API key, only a service on this machine is used", async () => {
    const env = { SVC_BASE_URL: "https://192.0.2.1/" };
    const { code, stderr } = await cli(["service", "event-types", "list"], { env });
    expect([code, stderr]).toEqual([2, expect.stringContaining("SVC_API_KEY")]);
  });

  test("errors are JSON with --json", async () => {
    const { run } = await service();
    const { stderr } = await run("service sends get send_x --json");
    expect(JSON.parse(stderr)).toMatchObject({ error: { code: "not_found" } });
  });
});

testPosix("Ctrl-C ends a wait with 130", async () => {
  const { env, json: value, url } = await service();
  const sent = await value(`${email} --to delayed@example.test`, subject);
  const waiting = start(["service", "sends", "get", String(sent.value["send_id"]), "--wait"], env);
  const isAsked = async () => {
    const overview = await fetch(`${url}/_sandbox/overview`);
    return ((await overview.json()) as { counts: { calls: number } }).counts.calls > 1;
  };
  while (!(await isAsked()));
  expect(await waiting.interrupt()).toBe(130);
});

describe("what the interface has no route for comes from the sandbox:", () => {
  test("the endpoints and the domains", async () => {
    const { run, json: value } = await service();
    const created = await value(
      "service endpoints create --url http://127.0.0.1:9/ --event email.sent",
    );
    const { webhook_endpoint_id: id = "" } = created.value["webhook_endpoint"] as Item;
    await run("service domains add mail.example.test");
    expect((await run("service endpoints list")).stdout).toMatch(
      new RegExp(`^webhook_endpoint_id .+\n${id} +active +http://127.0.0.1:9/ +email.sent *\n$`),
    );
    expect((await run("service domains list")).stdout).toMatch(
      /\n\w+ +mail\.example\.test +pending *\n$/,
    );
    const verified = await value("service domains verify mail.example.test");
    expect(verified).toMatchObject({ code: 0, value: { status: "verified" } });
    const unknown = await run("service domains verify other.example.test");
    expect(unknown).toMatchObject({ code: 1, stderr: expect.stringContaining("No domain has") });
  });

  test("the last response of each delivery, and all of its attempts", async () => {
    const { sandbox, run, json: value, id } = await withFailures(1);
    const { data } = (await value("service events list")).value as {
      readonly data: readonly Item[];
    };
    const { event_id = "", last_response } = data[0] ?? {};
    expect(last_response).toBe("refused");
    const body = { target: id, kind: "status", status: 500, times: 1 };
    await sandbox.fetch(
      new Request("http://localhost/_sandbox/faults", {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: JSON.stringify(body),
      }),
    );
    await run(`service events redeliver ${event_id}`);
    await sandbox.clock.advance(0);
    expect((await run("service events list")).stdout).toMatch(
      new RegExp(`^event_id .+\n${event_id} +email.sent +failed +2 +500 .+${id}`),
    );
    const { code, stdout } = await run(`service events get ${event_id}`);
    expect(code).toBe(0);
    const time = /\d\d [A-Z][a-z]{2} \d\d:\d\d:\d\dZ/.source;
    expect(stdout).toMatch(
      new RegExp(
        `\nattempt .+\n1 +${time} +refused +\\d+ *\n2 +${time} +500 +\\d+ *\nAttempt 1: Nothing is listening on port 9 of 127\\.0\\.0\\.1\\.\n$`,
      ),
    );
  });

  testPosix("--follow prints the deliveries that change, until Ctrl-C", async () => {
    const { sandbox, env, run, id } = await withFailures(1);
    const { shows, interrupt, output } = start(
      ["service", "events", "list", "--follow", "--json"],
      env,
    );
    await shows(/\n/);
    await run(email, subject);
    await sandbox.clock.advance(0);
    await shows(/\n.+\n/);
    expect(await interrupt()).toBe(130);
    const [first, second] = output.stdout.trim().split("\n");
    for (const line of [first, second]) {
      const { data } = JSON.parse(line ?? "") as { readonly data: readonly Item[] };
      expect(data).toMatchObject([{ webhook_endpoint_id: id, status: "failed" }]);
    }
    expect(first).not.toBe(second);
  });

  testPosix("--follow prints the names once, no old delivery, and leaves no calls", async () => {
    const { sandbox, env, run, url } = await withFailures(4);
    const { shows, interrupt, output } = start(
      ["service", "events", "list", "--limit=1", "--follow"],
      env,
    );
    await shows(/\nevt_.+\n/);
    await run(email, subject);
    await run(email, subject);
    await sandbox.clock.advance(0);
    await shows(/\nevt_.+\nevt_.+\nevt_.+\n/);
    expect(await interrupt()).toBe(130);
    const [names, ...lines] = output.stdout.trim().split("\n");
    expect(names).toMatch(/^event_id /);
    expect(lines).toHaveLength(3);
    expect(lines.join("\n")).not.toContain("event_id");
    const listed = await run("service events list --limit 2");
    const newestFirst = Array.from(listed.stdout.matchAll(/^evt_\w+/gm), String);
    expect(lines.slice(1).map((line) => line.split(" ")[0])).toEqual(newestFirst.toReversed());
    const response = await fetch(`${url}/_sandbox/timeline?limit=100`);
    const { data } = (await response.json()) as { readonly data: readonly Item[] };
    expect(data.filter(({ method }) => method === "GET")).toHaveLength(2);
  });

  test("an event that does not exist is named", async () => {
    const { run } = await service();
    expect(await run("service events get evt_none")).toMatchObject({
      code: 1,
      stderr: expect.stringContaining("No delivery has the event_id evt_none."),
    });
  });

  test.each(["{}", "<html>", '{"data":{}}'])(
    "another service, which responds with %s, is named, and its deliveries are listed",
    async (body) => {
      const listed = JSON.stringify({ data: [{ event_id: "evt_1" }], has_more: false });
      const port = await listen((request, response) => {
        const isOwn = request.url?.startsWith("/v1/") === true;
        response.writeHead(isOwn ? 200 : 404).end(isOwn ? listed : body);
      });
      const env = { SVC_BASE_URL: `http://127.0.0.1:${port}` };
      for (const name of ["endpoints", "domains"]) {
        const { code, stderr } = await cli([name, "list"], { env });
        expect([code, stderr]).toEqual([
          1,
          expect.stringContaining(`Only the sandbox can list ${name}, `),
        ]);
      }
      const { stdout } = await cli(["service", "events", "list"], { env });
      expect(stdout).toMatch(/^event_id +type +status +attempts +next_attempt_at.*\nevt_1\n$/);
    },
  );
});
