import { readFileSync, writeFileSync } from "node:fs";
import type { IncomingHttpHeaders } from "node:http";
import { tmpdir } from "node:os";
import { buffer } from "node:stream/consumers";
import { verify } from "@svc-webhooks/core";
import { outcomeTexts } from "@svc-webhooks/core/outcomes";
import { gate } from "@svc-webhooks/kit/gate";
import { listen } from "@svc-webhooks/kit/servers";
import { signedDelivery } from "@svc-webhooks/testing";
import fc from "fast-check";
import { testPosix } from "@svc-webhooks/kit/systems";
import { describe, expect, test } from "vitest";
import { captured, deliver, listening, sha256, target } from "./listening.js";
import { cli, testInTerminal, inTerminal, newFile, secret, shell, start } from "./support.js";

/** Writes a capture file with these bodies, in the format of `listen --save`. */
async function captureOf(...bodies: readonly string[]): Promise<string> {
  const file = newFile("capture.jsonl");
  const lines = bodies.map(async (event, index) => {
    const { headers, body } = await signedDelivery(event, { secret, deliveryId: `dlv_${index}` });
    return `${JSON.stringify({
      at: "2026-11-22T10:00:00.000Z",
      method: "POST",
      path: "/",
      verdict: index === 1 ? "signature_mismatch" : "genuine",
      headers: [...Object.entries(headers), ["X-Other", "1"]],
      body: Buffer.from(body).toString("base64"),
    })}\n`;
  });
  writeFileSync(file, (await Promise.all(lines)).join(""));
  return file;
}

const linesOf = (stdout: string) =>
  stdout
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line) as Readonly<Record<string, unknown>>);

const bytes = (text: string) => Array.from(Buffer.from(text));

/** Bodies full of characters that text handling corrupts. */
const hostileBody = fc
  .array(
    fc.oneof(
      fc.uint8Array({ maxLength: 50 }).map((some) => Array.from(some)),
      fc.string({ unit: "binary", maxLength: 20 }).map(bytes),
      fc.constantFrom(
        bytes("\r\n"),
        bytes("\uFEFF"),
        bytes("\u2028"),
        bytes('{"n": 12345678901234567890, "n": 1.0, "é": "\\u00e9"}'),
        bytes("\\"),
        [0xff, 0xfe, 0xc0, 0x80],
        [0xed, 0xa0, 0x80],
        [0],
      ),
    ),
    { maxLength: 20 },
  )
  .map((parts) => Uint8Array.from(parts.flat()));

test("--resign signs the service's requests with another secret", async () => {
  const got: { readonly headers: IncomingHttpHeaders; readonly body: string }[] = [];
  const port = await listen(async (request, response) => {
    got.push({ headers: request.headers, body: String(await buffer(request)) });
    response.end();
  });
  const file = await captureOf('{"type":"email.sent"}');
  const other = "whsec_another_secret_of_an_endpoint";
  const words = ["replay", file, "--to", `http://127.0.0.1:${port}/`, "--resign"];
  const { code } = await cli([...words, "--secret-env=OTHER"], { env: { OTHER: other } });
  expect(code).toBe(0);
  const [{ headers, body } = { headers: {}, body: "" }] = got;
  expect(headers["x-svc-delivery-id"]).toBe("dlv_0");
  const signature = headers["x-svc-signature"];
  expect(await verify(body, String(signature), other)).toMatchObject({ ok: true });
});

test("any bodies survive listen --save and replay", async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(hostileBody, { minLength: 1, maxLength: 30 }), async (bodies) => {
      const file = newFile();
      const { url, interrupt } = await listening(["--save", file]);
      for (const body of bodies) expect((await deliver(url, body)).status).toBe(200);
      await interrupt();
      const { url: to, got } = await target();
      const { code, stdout } = await cli(["replay", file, "--to", to, "--json"]);
      expect(code).toBe(0);
      const sent = bodies.map(sha256);
      expect(got.map(({ body }) => sha256(body))).toEqual(sent);
      expect(
        linesOf(stdout)
          .slice(0, -1)
          .map(({ sha256: hash }) => hash),
      ).toEqual(sent);
      const names = (headers: readonly string[]) => headers.filter((_, index) => index % 2 === 0);
      const kept = captured(file).map(({ headers }) =>
        (headers as readonly (readonly [string, string])[]).filter(([name]) =>
          /^(?:x-svc-.*|idempotency-key|content-type)$/i.test(name),
        ),
      );
      expect(got.map(({ rawHeaders }) => rawHeaders.slice(0, -6))).toEqual(
        kept.map((headers) => headers.flat()),
      );
      expect(names(got[0]?.rawHeaders ?? []).slice(-3)).toEqual([
        "Host",
        "Content-Length",
        "Connection",
      ]);
    }),
    { numRuns: 4 },
  );
});

test("exits with 1 and shows what did not get a 2xx", async () => {
  const file = await captureOf("0", "1", "2", "3");
  const { url: to } = await target((response, { body }) => {
    const status = [200, 401, 302, 204][Number(body)] ?? 500;
    response.writeHead(status, { Location: "/" }).end();
  });
  const { code, stdout, stderr } = await cli(["replay", file, "--to", to]);
  expect([code, stderr]).toEqual([1, ""]);
  expect(stdout).toBe(
    "failed  line 2  dlv_1  status 401\nfailed  line 3  dlv_2  status 302\nSent 4: 2 succeeded, 2 failed.\n",
  );
});

test("--json has a line for each request, and a summary", async () => {
  const file = await captureOf("{}");
  const { url: to } = await target();
  const { code, stdout } = await cli(["replay", file, "--to", to, "--json"]);
  expect(code).toBe(0);
  expect(linesOf(stdout)).toEqual([
    {
      line: 1,
      delivery_id: "dlv_0",
      status: 200,
      bytes: 2,
      sha256: sha256(Buffer.from("{}")),
      ms: expect.any(Number),
    },
    { summary: { sent: 1, succeeded: 1, failed: 0, interrupted: false } },
  ]);
});

test.each([
  ["--only=genuine", ["0", "2"]],
  ["--only=refused", ["1"]],
  ["--delivery-id=dlv_2", ["2"]],
])("%s selects requests", async (flag, wanted) => {
  const file = await captureOf("0", "1", "2");
  const { url: to, got } = await target();
  expect((await cli(["replay", file, "--to", to, flag])).code).toBe(0);
  expect(got.map(({ body }) => body.toString())).toEqual(wanted);
});

test("sends --concurrency requests at the same time", async () => {
  const file = await captureOf("0", "1", "2");
  const all = gate();
  const { url: to, got } = await target((response) => {
    if (got.length === 3) all.open();
    void all.opened.then(() => response.end());
  });
  expect((await cli(["replay", file, "--to", to, "--concurrency=3"])).code).toBe(0);
});

test("a broken line is reported, and the others are sent", async () => {
  const file = await captureOf("0", "1");
  writeFileSync(file, 'null\n{"at":"\n\n', { flag: "a" });
  const { url: to, got } = await target();
  const { code, stdout } = await cli(["replay", file, "--to", to]);
  expect(code).toBe(1);
  expect(stdout).toContain("failed  line 3  not a request written by listen --save\n");
  expect(stdout).toContain("failed  line 4  not a request");
  expect(stdout).toContain("Sent 2: 2 succeeded, 0 failed. Lines that are not requests: 2.\n");
  expect(got).toHaveLength(2);
});

test("reads requests from stdin", async () => {
  const file = await captureOf("0", "1");
  const { url: to, got } = await target();
  const { code, stdout } = await cli(["replay", "-", "--to", to], { input: readFileSync(file) });
  expect([code, stdout]).toEqual([0, "Sent 2: 2 succeeded, 0 failed.\n"]);
  expect(got.map(({ body }) => body.toString())).toEqual(["0", "1"]);
});

testPosix("Ctrl-C ends the reading of stdin, and the summary is printed", async () => {
  const file = await captureOf("0");
  const { url: to } = await target();
  const { child, interrupt, output, shows } = start(["replay", "-", "--to", to, "--json"]);
  child.stdin.write(readFileSync(file));
  await shows(/"status":200/);
  expect(await interrupt()).toBe(130);
  expect(linesOf(output.stdout).at(-1)).toEqual({
    summary: { sent: 1, succeeded: 1, failed: 0, interrupted: true },
  });
  expect(output.stderr).toBe("");
});

testInTerminal("requests can be pasted into a terminal", async () => {
  const keys = { after: /Reading the requests from the terminal/, type: "\u0003" };
  const { code } = await inTerminal(shell("replay", "-", "--to=localhost:1"), {}, keys);
  expect(code).toBe(130);
});

test("a file whose first line is not a request is one error", async () => {
  const { url: to, got } = await target();
  const file = await captureOf("0");
  const input = `{"at":\n${readFileSync(file, "utf8")}`;
  const { code, stdout, stderr } = await cli(["replay", "-", "--to", to], { input });
  expect([code, stdout]).toEqual([2, ""]);
  expect(stderr).toMatch(/^svc-webhooks replay: The first line .+ listen --save\..+\n$/);
  expect(got).toEqual([]);
});

describe("refuses", () => {
  test.each([
    ["a file that does not exist", ["/no/file", "--to=http://localhost:1"], 2, /ENOENT/],
    [
      "a folder",
      [tmpdir(), "--to=http://localhost:1"],
      2,
      /: \S+ is a folder\. Pass a capture file\.\n$/,
    ],
    ["an external target", ["FILE", "--to=http://192.0.2.1/"], 2, /--allow-external/],
    ["a wrong number", ["FILE", "--to=http://localhost:1", "--concurrency=0"], 2, /1 to 100/],
    ["a wrong --only", ["FILE", "--to=http://localhost:1", "--only=failed"], 2, /--only genuine/],
    [
      "a selection of nothing",
      ["FILE", "--to=http://localhost:1", "--delivery-id=x"],
      1,
      /No request/,
    ],
  ])("%s", async (_what, args, code, text) => {
    const file = await captureOf("0");
    const ended = await cli(["replay", ...args.map((arg) => (arg === "FILE" ? file : arg))]);
    expect(ended).toEqual({ code, stdout: "", stderr: expect.stringMatching(text) });
  });
});

test("a target that is down is an error for each request", async () => {
  const file = await captureOf("0");
  const { code, stdout } = await cli(["replay", file, "--to=http://127.0.0.1:9"]);
  expect([code, stdout]).toEqual([1, expect.stringContaining("ECONNREFUSED")]);
});

testPosix("Ctrl-C stops sending, exits with 130 and prints what was sent", async () => {
  const file = await captureOf("0", "1", "2");
  const second = gate();
  const { url: to, got } = await target((response, { body }) => {
    if (body.toString() === "0") response.end();
    else second.open();
  });
  const { interrupt, output } = start(["replay", file, "--to", to]);
  await second.opened;
  expect(await interrupt()).toBe(130);
  expect(output).toEqual({ stdout: "Interrupted. Sent 1: 1 succeeded, 0 failed.\n", stderr: "" });
  expect(got).toHaveLength(2);
});

testInTerminal("a terminal shows progress, which is gone at the end", async () => {
  const file = await captureOf("0", "1");
  const { url: to } = await target();
  const { code, output } = await inTerminal(shell("replay", file, "--to", to));
  expect(code).toBe(0);
  const erase = "\r\u001b[K";
  const [, ...shown] = output.split(erase);
  expect(shown[0]).toMatch(/^\[#+-*\] \d+ % {2}\d sent, 0 failed$/);
  expect(shown.at(-1)).toBe("Sent 2: 2 succeeded, 0 failed.\r\n");
});

test("the outcome of a refused request is printed, and its cause and fix once", async () => {
  const file = await captureOf('{"a":1}', '{"a":2}', '{"a":3}');
  const body = JSON.stringify({ error: { code: "body_unavailable" } });
  const port = await listen((request, response) => {
    request.resume();
    response.writeHead(500, { "cache-control": "no-store" }).end(body);
  });
  const { code, stdout } = await cli(["replay", file, "--to", `http://127.0.0.1:${port}/`]);
  expect(code).toBe(1);
  expect(stdout.match(/status 500 body_unavailable\n/g)).toHaveLength(3);
  expect(stdout.match(/^ {2}\S/gm)).toHaveLength(2);
  const { cause, fix } = outcomeTexts.body_unavailable;
  expect(stdout).toContain(cause);
  expect(stdout).toContain(fix);
});
