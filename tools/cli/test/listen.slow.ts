import { once } from "node:events";
import { readFileSync, statSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { connect } from "node:net";
import { createClient } from "@svc-webhooks/client";
import { createReceiver, sign } from "@svc-webhooks/core";
import { headerNames } from "@svc-webhooks/core/adapter";
import { explain, fingerprint } from "@svc-webhooks/explain";
import { freePort } from "@svc-webhooks/kit/free-port";
import { gate } from "@svc-webhooks/kit/gate";
import { openSandbox } from "@svc-webhooks/kit/sandboxes";
import { listen } from "@svc-webhooks/kit/servers";
import { until } from "@svc-webhooks/kit/until";
import { webhooks } from "@svc-webhooks/node";
import { senders, service } from "@svc-webhooks/schemes/senders";
import { signedDelivery } from "@svc-webhooks/testing";
import { testLinux, testPosix } from "@svc-webhooks/kit/systems";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { createExplainer } from "../src/listen/explainer.js";
import { captured, deliver, listening, target } from "./listening.js";
import { cli, testInTerminal, inTerminal, newFile, secret, shell, start } from "./support.js";

const event = '{ "type": "email.sent", "name": "Zo\\u00eb" }\r\n';

testPosix(
  "verifies, saves and forwards a delivery, and returns the target's response",
  async () => {
    const { url: to, got } = await target((response) =>
      response.writeHead(503, { "Retry-After": "7", "Content-Type": "text/plain" }).end("later"),
    );
    const file = newFile("capture.jsonl");
    const { url, received, interrupt } = await listening(["--forward-to", to, "--save", file]);
    const response = await deliver(`${url}/any/path?x=1`, event, {
      deliveryId: "dlv_1",
      headers: {
        "x-svc-event-id": "evt_1",
        "x-other": "1",
        cookie: "a=b",
        authorization: "Basic eA==",
      },
    });
    expect([response.status, response.headers.get("retry-after"), await response.text()]).toEqual([
      503,
      "7",
      "later",
    ]);
    await until(() => received().length === 1, "the delivery is shown");
    expect(received()[0]).toMatchObject({
      method: "POST",
      path: "/any/path?x=1",
      delivery_id: "dlv_1",
      type: "email.sent",
      bytes: event.length,
      verdict: "genuine",
      secret: "current",
      status: 503,
      target_status: 503,
    });

    const [forwarded] = got;
    expect([forwarded?.method, forwarded?.path]).toEqual(["POST", "/hooks"]);
    expect(forwarded?.body.toString()).toBe(event);
    const names = Object.keys(forwarded?.headers ?? {}).toSorted();
    expect(names).toEqual(
      "connection content-length content-type host idempotency-key x-svc-attempt x-svc-delivery-id x-svc-event-id x-svc-signature".split(
        " ",
      ),
    );

    const [saved] = captured(file);
    expect(Object.keys(saved ?? {})).toEqual("at method path headers body verdict".split(" "));
    expect(saved).toMatchObject({ method: "POST", path: "/any/path?x=1", verdict: "genuine" });
    expect(Buffer.from(String(saved?.["body"]), "base64").toString()).toBe(event);
    expect(saved?.["headers"]).toContainEqual(["x-other", "1"]);
    expect(saved?.["headers"]).toContainEqual(["authorization", "…"]);
    expect(saved?.["headers"]).toContainEqual(["cookie", "…"]);
    expect(statSync(file).mode & 0o777).toBe(0o600);
    expect(await interrupt()).toBe(130);
  },
);

test("shows the fingerprint of its secret, which none of its responses has", async () => {
  const { url, output } = await listening();
  const shown = await fingerprint(secret);
  expect(JSON.parse(output.stdout)).toMatchObject({ secret_fingerprint: shown });
  const genuine = await deliver(url, event);
  const forged = await deliver(url, event, { secret: "whsec_0123456789abcdef0123456789abcdef" });
  expect([genuine.status, forged.status]).toEqual([200, 401]);
  for (const { headers, text } of [
    { headers: genuine.headers, text: await genuine.text() },
    { headers: forged.headers, text: await forged.text() },
  ])
    expect(JSON.stringify([...headers]) + text).not.toContain(shown);
});

test("saves a request before it is forwarded", async () => {
  const file = newFile();
  let saved = "";
  const { url: to } = await target((response) => {
    saved = readFileSync(file, "utf8");
    response.end();
  });
  const { url } = await listening(["--forward-to", to, "--save", file]);
  expect((await deliver(url, event)).status).toBe(200);
  expect(saved).toContain(Buffer.from(event).toString("base64"));
});

testLinux("responds 503 if a request cannot be saved, and forwards nothing", async () => {
  const { url: to, got } = await target();
  const { url, received } = await listening(["--forward-to", to, "--save", "/dev/full"]);
  expect((await deliver(url, event)).status).toBe(503);
  await until(() => received().length === 1, "the delivery is shown");
  expect(received()[0]?.["error"]).toMatch(/not saved/);
  expect(got).toEqual([]);
});

testPosix("appends to a file that ends with half a line", async () => {
  const file = newFile();
  writeFileSync(file, '{"at":"2026', { mode: 0o644 });
  const { url } = await listening(["--save", file]);
  await deliver(url, event);
  const lines = readFileSync(file, "utf8").split("\n");
  expect(lines).toEqual(['{"at":"2026', expect.stringMatching(/^\{"at":.*\}$/), ""]);
  expect(statSync(file).mode & 0o777).toBe(0o600);
});

test("saves and explains a wrong signature, and does not forward it", async () => {
  const { url: to, got } = await target();
  const file = newFile();
  const args = ["--forward-to", to, "--save", file, "--previous-secret-env=OLD"];
  const { url, received } = await listening(args, { OLD: "whsec_before" });
  const responses = [
    await deliver(url, event, { secret: "before" }),
    await deliver(url, event, { secret: secret.slice(6) }),
    await deliver(url, event, { headers: { "x-svc-signature": undefined } }),
    await deliver(url, event, { headers: { "x-svc-signature": "sha256=\u00e9" } }),
  ];
  expect(responses.map(({ status }) => status)).toEqual([401, 401, 401, 401]);
  await until(() => received().length === 4, "the deliveries are shown");
  const shown = received().map(({ verdict, mistake }) => `${String(verdict)} ${String(mistake)}`);
  expect(shown.toSorted()).toEqual([
    "signature_malformed null",
    "signature_mismatch old_secret",
    "signature_mismatch secret_prefix_stripped",
    "signature_missing null",
  ]);
  expect(captured(file)).toHaveLength(4);
  expect(got).toEqual([]);
});

test("forwards what the previous secret has signed, and marks it", async () => {
  const { url: to, got } = await target();
  const file = newFile();
  const args = ["--forward-to", to, "--save", file, "--previous-secret-env=OLD"];
  const env = { OLD: "whsec_before" };
  const { url, received } = await listening(args, env);
  const options = { secret: "whsec_before" };
  expect((await deliver(url, event, options)).status).toBe(200);
  await until(() => received().length === 1, "the delivery is shown");
  expect(received()[0]).toMatchObject({ verdict: "genuine", secret: "previous", mistake: null });
  expect(captured(file)).toMatchObject([{ verdict: "genuine" }]);
  expect(got).toHaveLength(1);

  const { output, shows } = start(
    ["listen", "--port=0", "--secret-env=SECRET", args[4] ?? ""],
    env,
  );
  await shows(/\n/);
  await deliver(/http:\S+/.exec(output.stdout)?.[0] ?? "", event, options);
  await shows(/ {2}200 {2}email\.sent {2}dlv_\S+ {2}genuine, previous secret\n/);
});

test("a previous secret that is the current one changes nothing", async () => {
  const { url, received } = await listening(["--previous-secret-env=SECRET"]);
  await deliver(url, event);
  await until(() => received().length === 1, "the delivery is shown");
  expect(received()[0]).toMatchObject({ verdict: "genuine", secret: "current" });
});

test("a wrong signature without a known mistake leads to the secret", async () => {
  const { output, shows } = start(["listen", "--port=0", "--secret-env=SECRET"]);
  await shows(/\n/);
  await deliver(/http:\S+/.exec(output.stdout)?.[0] ?? "", event, { secret: "whsec_another" });
  await shows(/signature_mismatch\n.+\n/);
  expect(output.stdout).toMatch(
    /\n {2}No known mistake produces this signature\. Check .+ of the endpoint, and that nothing changes the body .+\n/,
  );
});

test("an explainer explains ten signatures a minute", async () => {
  let now = 0;
  const explainAt = createExplainer(service, "whsec_test", [], () => now);
  const unsigned = { headers: [], body: Buffer.from("{}"), at: 0 };
  const all = await Promise.all(Array.from({ length: 11 }, () => explainAt(unsigned)));
  const ids = all.map((one) => one?.mistake?.id);
  expect(ids).toEqual([...Array.from({ length: 10 }, () => "missing_header"), undefined]);
  now = 59_999;
  expect(await explainAt(unsigned)).toBeUndefined();
  now = 60_000;
  expect(await explainAt(unsigned)).toBeDefined();
});

/** Explains a body of a size, and returns the number of signatures that were made. */
async function signaturesFor(explainBody: (body: Buffer) => Promise<unknown>, size: number) {
  const spy = vi.spyOn(crypto.subtle, "sign");
  onTestFinished(() => {
    spy.mockRestore();
  });
  await explainBody(Buffer.from(`[${'{"a":1.0,"b":"é"},'.repeat(size / 20)}1]`));
  const { length } = spy.mock.calls;
  spy.mockRestore();
  return length;
}

describe("a signature that anyone may send is explained with few digests", () => {
  const wrong = "a".repeat(64);
  const explainOwn = createExplainer(service, "whsec_test", []);
  const explainOther = createExplainer(senders.stripe, "whsec_test", []);

  test.each([200, 8_000, 20_000, 900_000])("with a body of %i bytes", async (size) => {
    const at = Date.now();
    const own = await signaturesFor(
      (body) => explainOwn({ headers: [[headerNames.signature, `sha256=${wrong}`]], body, at }),
      size,
    );
    expect(own).toBeLessThan(size > 8_192 ? 40 : 200);
    const header = `t=${Math.floor(at / 1_000)}${`,v1=${wrong}`.repeat(5)}`;
    const others = await signaturesFor(
      (body) => explainOther({ headers: [["stripe-signature", header]], body, at }),
      size,
    );
    expect(others).toBeLessThan(size > 8_192 ? 100 : 500);
  });
});

describe("a target", () => {
  test("that is down is 502, and its redirect is returned and not followed", async () => {
    const port = await freePort();
    const down = await listening(["--forward-to", `localhost:${port}`]);
    expect((await deliver(down.url, event)).status).toBe(502);

    const { url: to, got } = await target((response) =>
      response.writeHead(307, { Location: "/elsewhere" }).end(),
    );
    const { url } = await listening(["--forward-to", to]);
    const response = await deliver(url, event);
    expect([response.status, response.headers.get("location")]).toEqual([307, "/elsewhere"]);
    expect(got).toHaveLength(1);
  });

  test("that refuses genuine deliveries is shown with what it responds, and once with the next step", async () => {
    const { url: to } = await target((response) =>
      response.writeHead(401).end(`no\u001b[31m\nsuch ${"x".repeat(300)}`),
    );
    const { output, shows } = start([
      "listen",
      "--port=0",
      "--secret-env=SECRET",
      "--forward-to",
      to,
    ]);
    await shows(/\n/);
    const [url = ""] = /http:\S+/.exec(output.stdout) ?? [];
    await deliver(url, event);
    await deliver(url, event);
    await shows(/(?:target 401[^]*){2}…\n/);
    const [, , first, second] = output.stdout.split("\n");
    expect(first).toMatch(/ {2}target 401 {2}email\.sent {2}dlv_\S+ {2}genuine$/);
    expect(second).toBe(`  no such ${"x".repeat(191)}…`);
    expect(output.stderr).toBe(
      `Your receiver did not accept a genuine delivery. To find out why, run svc-webhooks doctor ${to} --secret-env ….\n`,
    );
    await deliver(url, event, { secret: "whsec_another" });
    await shows(/ {2}401 {2}POST /);
  });

  test("whose response is compressed is shown without it", async () => {
    const { url: to } = await target((response) =>
      response.writeHead(500, { "content-encoding": "gzip" }).end("unreadable"),
    );
    const args = ["--port=0", "--secret-env=SECRET", "--forward-to", to];
    const { output, shows } = start(["listen", ...args]);
    await shows(/\n/);
    const [url = ""] = /http:\S+/.exec(output.stdout) ?? [];
    await fetch(url, await signedDelivery(event, { secret })).catch(() => {});
    await shows(/target 500/);
    expect(output.stdout).not.toContain("unreadable");
  });

  test("that is down has no status", async () => {
    const { url, received } = await listening(["--forward-to", `localhost:${await freePort()}`]);
    await deliver(url, event);
    await until(() => received().length === 1, "the delivery is shown");
    expect(received()[0]).toMatchObject({
      status: 502,
      target_status: null,
      error: expect.stringMatching(
        /^The target returned no usable response: .*ECONNREFUSED.*\. Start the receiver, or check --forward-to\.$/,
      ),
    });
  });

  test.each([
    [
      "another machine",
      "http://192.0.2.1/",
      /192\.0\.2\.1, which is not a loopback address.*--allow-external/,
    ],
    ["the unspecified address", "http://0.0.0.0:3000/", /not a loopback address/],
    ["a mapped private address", "http://[::ffff:10.0.0.1]/", /not a loopback address/],
    ["another scheme", "file:///etc/passwd", /http or https/],
    ["credentials", "http://user:pass@localhost/", /user name/],
    ["a URL without a host", "http://:80", /no host/],
    ["an invalid URL", "http://[::", /valid URL/],
    [
      "a name without an address",
      "http://no-such-name.invalid/",
      /no address|not a loopback address/,
    ],
  ])("is refused: %s", async (_what, to, text) => {
    const { code, stderr } = await cli(["listen", "--secret-env=SECRET", "--forward-to", to]);
    expect([code, stderr]).toEqual([2, expect.stringMatching(text)]);
  });
});

test.each([
  ["localhost:4099/x"],
  ["127.0.0.1:4099"],
  ["[::ffff:127.0.0.1]:4099"],
  ["0.0.0.0:4099", "--allow-external"],
])("a target that is the command itself is refused: %s", async (to, ...more) => {
  const args = ["listen", "--port=4099", "--secret-env=SECRET", `--forward-to=${to}`, ...more];
  const { code, stderr } = await cli(args);
  expect([code, stderr]).toEqual([2, expect.stringContaining("--forward-to is this command")]);
});

test("a target on another address may have the same port", async () => {
  const port = await freePort();
  const got: string[] = [];
  const other = createServer((request, response) => {
    got.push(request.url ?? "");
    response.end();
  });
  other.listen(port, "::1");
  await once(other, "listening");
  onTestFinished(() => void other.close());
  const to = `http://[::1]:${port}/hooks`;
  const { shows } = start(["listen", `--port=${port}`, "--secret-env=SECRET", "--forward-to", to]);
  await shows(/\n/);
  expect((await deliver(`http://127.0.0.1:${port}`, event)).status).toBe(200);
  expect(got).toEqual(["/hooks"]);
});

test("refuses a large body, and the command continues", async () => {
  const file = newFile();
  const { url, received } = await listening(["--max-bytes", "100", "--save", file]);
  expect((await deliver(url, "x".repeat(101))).status).toBe(413);
  const chunked = await fetch(url, {
    method: "POST",
    body: new ReadableStream({
      start(controller) {
        controller.enqueue(new Uint8Array(200));
        controller.close();
      },
    }),
    duplex: "half",
  });
  expect(chunked.status).toBe(413);
  expect((await deliver(url, "x".repeat(100))).status).toBe(200);
  await until(() => received().length === 3, "all are shown");
  expect(received().map(({ verdict }) => verdict)).toEqual([
    "body_too_large",
    "body_too_large",
    "genuine",
  ]);
  expect(captured(file)).toHaveLength(1);
});

test("a client that hangs up in the middle of a body is shown and not saved", async () => {
  const file = newFile();
  const { url, received } = await listening(["--save", file]);
  const socket = connect(Number(new URL(url).port), "127.0.0.1");
  socket.write("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\nhalf");
  await once(socket, "connect");
  await new Promise<void>((resolve) => socket.end(resolve));
  await until(() => received().length === 1, "it is shown");
  expect(received()[0]).toMatchObject({ verdict: "aborted", bytes: null });
  expect(readFileSync(file, "utf8")).toBe("");
});

test("holds at most 100 connections", async () => {
  const { url } = await listening();
  const { port } = new URL(url);
  let closed = 0;
  const sockets = Array.from({ length: 110 }, () => {
    const socket = connect(Number(port), "127.0.0.1");
    socket.on("error", () => {});
    socket.on("close", () => (closed += 1));
    socket.write("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1000000\r\n\r\n");
    return socket;
  });
  await until(() => closed >= 10, "connections are closed");
  expect(closed).toBe(10);
  for (const socket of sockets) socket.destroy();
  const works = () =>
    deliver(url, event).then(
      ({ ok }) => ok,
      () => false,
    );
  await until(works, "deliveries are received again");
});

test("prints a line for each delivery, without control characters", async () => {
  const { output, shows } = start(["listen", "--port=0", "--secret-env=SECRET"]);
  await shows(/^Listening at http:\S+\n/);
  const [url = ""] = /http:\S+/.exec(output.stdout) ?? [];
  const hostile = JSON.stringify({ type: "a\u001b[2J\u202e\nfake  line" });
  await deliver(url, hostile, { deliveryId: "dlv_1\u009b31m" });
  await shows(/genuine/);
  await deliver(url, event, { secret: secret.slice(6) });
  await shows(/whsec_/);
  const [, , first, second] = output.stdout.split("\n");
  expect(first).toMatch(/^\d\d:\d\d:\d\d {2}200 {2}a fake line {2}dlv_1\S* {2}genuine$/);
  expect(second).toMatch(/^\d\d:\d\d:\d\d {2}401 {2}POST {2}dlv_\S+ {2}signature_mismatch$/);
  expect(output.stdout).toMatch(/\n {2}The key is the secret without `whsec_`\.\n/);
  expect(output.stdout).toMatch(/^[\n -~]+$/);
});

test("prints the cause and the fix after a wrong signature, and nothing after a missing one", async () => {
  const { output, shows } = start(["listen", "--port=0", "--secret-env=SECRET"]);
  await shows(/\n/);
  const [url = ""] = /http:\S+/.exec(output.stdout) ?? [];
  await deliver(url, event, { headers: { "x-svc-signature": undefined } });
  await shows(/signature_missing\n/);
  await deliver(url, event, { secret: secret.slice(6) });
  await shows(/signature_mismatch\n.+\n.+\n/);
  await deliver(url, event, { headers: { "x-svc-signature": "sha256=z" } });
  await shows(/signature_malformed\n.+\n/);
  await deliver(url, event);
  await shows(/genuine\n$/);
  const { mistake } = await explain({
    body: Buffer.from(event),
    signature: await sign(event, secret.slice(6)),
    secrets: secret,
  });
  expect(output.stdout.split("\n").slice(2)).toEqual([
    expect.stringMatching(/ {2}401 {2}POST {2}dlv_\S+ {2}signature_missing$/),
    expect.stringMatching(/ {2}401 {2}POST {2}dlv_\S+ {2}signature_mismatch$/),
    `  ${mistake?.cause}`,
    `  ${mistake?.fix}`,
    expect.stringMatching(/ {2}401 {2}POST {2}dlv_\S+ {2}signature_malformed$/),
    expect.stringMatching(/^ {2}No known mistake produces this signature\. .+ --explain\.$/),
    expect.stringMatching(/ {2}200 {2}email\.sent {2}dlv_\S+ {2}genuine$/),
    "",
  ]);
});

test("receives from the sandbox and forwards to a receiver", async () => {
  const done = gate();
  const receiver = createReceiver({
    secret: () => endpointSecret,
    on: { "email.sent": () => done.open() },
  });
  let endpointSecret = "";
  const port = await listen(webhooks(receiver));
  const { sandbox, url: baseUrl } = await openSandbox();
  const { emails, webhookEndpoints } = createClient({ baseUrl, apiKey: "svc_test" });
  const own = await freePort();
  const endpoint = { url: `http://localhost:${own}/`, event_types: ["email.sent"] };
  endpointSecret = (await webhookEndpoints.create(endpoint)).secret.reveal();
  const started = start(
    ["listen", `--port=${own}`, "--secret-env=SECRET", `--forward-to=http://localhost:${port}`],
    { SECRET: endpointSecret },
  );
  await started.shows(/Listening/);
  await emails.send({ from: "a@a.test", to: ["b@b.test"], subject: "s", text: "t" });
  await Promise.all([sandbox.clock.advance(10_000), done.opened]);
  await started.shows(/200 processed {2}email\.sent {2}dlv_\S+ {2}genuine/);
  expect(started.output.stderr).toBe("");
});

describe("ends", () => {
  test("with 1 and the fix if the port is in use", async () => {
    const { url } = await listening();
    const { port } = new URL(url);
    const { code, stderr } = await cli(["listen", "--port", port, "--secret-env=SECRET"]);
    expect([code, stderr]).toEqual([
      1,
      expect.stringMatching(/^svc-webhooks listen: Port \d+ .+EADDRINUSE.+--port.+\n$/),
    ]);
  });

  test("with 2 with a spoilt secret, and with a file that cannot be written", async () => {
    const results = await Promise.all([
      cli(["listen", "--port=0", "--secret-env=SECRET"], { env: { SECRET: "whsec_x " } }),
      cli(["listen", "--port=0", "--secret-env=SECRET", "--save=/no/folder/file"]),
      cli(["listen", "--port=65536", "--secret-env=SECRET"]),
    ]);
    expect(results.map(({ code }) => code)).toEqual([2, 2, 2]);
  });

  testPosix("with 130 after Ctrl-C, while a forwarded request hangs", async () => {
    const called = gate();
    const { url: to } = await target(() => called.open());
    const { url, interrupt } = await listening(["--forward-to", to]);
    const sent = deliver(url, event).catch(() => "closed");
    await called.opened;
    expect(await interrupt()).toBe(130);
    expect(await sent).toBe("closed");
  });

  test("quietly when stdout is closed", async () => {
    const { child, url, ended } = await listening();
    child.stdout.destroy();
    await deliver(url, event);
    expect(await ended).toMatchObject({ code: 0, stderr: "" });
  });
});

testInTerminal("in a terminal verdicts have colors, and Ctrl-C ends it with 130", async () => {
  const port = await freePort();
  const ended = inTerminal(
    shell("listen", `--port=${port}`, "--secret-env=SECRET"),
    {},
    {
      // The color is part of the pattern because a port or an id can contain these digits.
      after: /\[32m200/,
      type: "\u0003",
    },
  );
  const url = `http://127.0.0.1:${port}/`;
  await until(
    () =>
      fetch(url).then(
        () => true,
        () => false,
      ),
    "it listens",
  );
  await deliver(url, event);
  const { code, output } = await ended;
  expect(code).toBe(130);
  expect(output).toContain("\u001b[31m401");
  expect(output).toContain("\u001b[32m200");
});

describe("without a secret", () => {
  testPosix(
    "registers an endpoint, prints its secret for the receiver, and archives it at the end",
    async () => {
      const { url: baseUrl } = await openSandbox();
      const env = { SVC_BASE_URL: baseUrl };
      const { shows, output, interrupt } = start(["listen", "--port=0"], env);
      await shows(/secret for your receiver: whsec_\S+\n/);
      const [, id = ""] = /registered as (we_\w+)\n/.exec(output.stdout) ?? [];
      const email = [
        "--from=a@mail.example.test",
        "--to=b@example.test",
        "--subject=x",
        "--text=y",
      ];
      await cli(["service", "emails", "send", ...email], { env });
      await shows(/email\.sent .*genuine[^]*email\.delivered .*genuine/);
      await deliver(/http:\S+(?=,)/.exec(output.stdout)?.[0] ?? "", event, {
        secret: "whsec_another",
      });
      await shows(new RegExp(`the secret of the endpoint ${id}, and`));
      expect(await interrupt()).toBe(130);
      expect(output.stdout).toMatch(/\n3 received, 1 refused\.\n$/);
      const endpoints = await fetch(`${baseUrl}/_sandbox/endpoints`);
      expect(await endpoints.json()).toMatchObject({
        data: [{ webhook_endpoint_id: id, status: "archived" }],
      });
      expect(output.stderr).toBe(
        `${id} was archived. The sandbox marks deliveries that were still pending as failed.\n`,
      );
    },
  );

  testPosix("names the endpoint that it could not archive", async () => {
    const { sandbox, url: baseUrl } = await openSandbox();
    const { shows, output, interrupt } = start(["listen", "--port=0", "--json"], {
      SVC_BASE_URL: baseUrl,
    });
    await shows(/\n/);
    const first = JSON.parse(output.stdout) as Readonly<Record<string, string>>;
    expect(first["secret"]).toMatch(/^whsec_/);
    await sandbox.close();
    expect(await interrupt()).toBe(130);
    const id = first["webhook_endpoint_id"];
    expect(output.stderr).toContain(
      `${id} could not be archived. To try again, run svc-webhooks service endpoints archive ${id}`,
    );
  });

  test("fails if no service is reachable, and leaves the port free", async () => {
    const env = { SVC_BASE_URL: `http://127.0.0.1:${await freePort()}` };
    const { code, stdout, stderr } = await cli(["listen", "--port=0"], { env });
    expect([code, stdout]).toEqual([1, ""]);
    expect(stderr).toMatch(/Start the sandbox with svc-webhooks sandbox/);
  });
});
