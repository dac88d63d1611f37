import { writeFileSync } from "node:fs";
import { Readable } from "node:stream";
import { listen } from "@svc-webhooks/kit/servers";
import { until } from "@svc-webhooks/kit/until";
import { describe, expect, onTestFinished, test } from "vitest";
import { commands } from "../src/commands.js";
import { parseCaptured } from "../src/lib/capture.js";
import { run } from "../src/run.js";
import { deliver } from "./listening.js";
import { newFile, secret } from "./support.js";

const apiKey = "Key!of{an}unusual~form";
/** Keys of printable ASCII characters, with punctuation near the start. */
const punctuated = [".", ",", "'", '"', "`", ";", "{}", "\\"].flatMap((mark) => [
  `whsec_ab${mark}leaked`,
  `whsec_abcd${mark}leaked`,
  `svc_live_ab${mark}leaked`,
  `svc_test_abcd${mark}leaked`,
]);
const leaks = `whsec_leaked12345678 svc_live_leaked12345678 whsec_${apiKey}leaked ${punctuated.join(" ")} ${secret} ${apiKey}`;
/** A title, an erased screen, C1, bidirectional and zero-width characters, line breaks and NUL. */
const controls =
  "\u001b]0;p\u0007\u001b[2J\u009b31m\u202e\u2066\u200b\r\nX\u0000\u007f\u2028\ud800";
const text = `${controls} ${leaks}`;
const created = "whsec_created12345678";

/** Returns a response for any operation, with one text in place of all values and some names. */
const anything = (one: string) => ({
  ...Object.fromEntries(
    ["send_id", "email_id", "message_id", "status", "subject", "from", "created_at", "domain_id"]
      .concat(["domain_name", "url", "webhook_endpoint_id", "event_id", "type", "attempts"])
      .map((name) => [name, one]),
  ),
  recipients: { to: [one, { [one]: one }] },
  history: [{ status: one, at: one }],
  event_types: [one],
  webhook_endpoint: { webhook_endpoint_id: `we_1${one}`, url: one, event_types: [one] },
  secret: created,
  data: [
    {
      type: one,
      description: one,
      event_id: one,
      status: "failed",
      attempts: [one],
      url: one,
      delivery_id: one,
      webhook_endpoint_id: "we_1",
      created_at: new Date(Date.now() - 3_600_000).toISOString(),
    },
  ],
  attempts: [{ n: one, started_at: one, status: one, code: one, ms: one }],
  has_more: false,
});

/** Starts a service and a target whose every text is this one. */
async function serviceOf(one: string, status = 200): Promise<string> {
  const error = { code: one, message: one, param: one };
  const body = JSON.stringify(status < 300 ? anything(one) : { error });
  return serviceWith(status, body);
}

async function serviceWith(status: number, body: string): Promise<string> {
  const port = await listen((request, response) => {
    request.resume().on("end", () => {
      response.writeHead(status, { "content-type": "application/json" }).end(body);
    });
  });
  return `http://127.0.0.1:${port}`;
}

/** Runs a correct command line in this process, and stops it once `isDone` returns true for its output. */
async function outputOf(
  words: readonly string[],
  url: string,
  isDone: (output: string) => boolean = () => false,
): Promise<string> {
  const controller = new AbortController();
  let output = "";
  const stream = { write: (written: string) => (output += written) };
  const ended = run(words, {
    env: { SECRET: secret, SVC_API_KEY: apiKey, SVC_BASE_URL: url },
    stdin: Readable.from([Buffer.from("{}")]),
    stdout: stream,
    stderr: stream,
    signal: controller.signal,
  });
  onTestFinished(() => controller.abort());
  let isEnded = false;
  void ended.finally(() => (isEnded = true));
  await until(() => isEnded || isDone(output), `${words.join(" ")} writes its output`);
  controller.abort();
  expect(await ended).not.toBe(2);
  return output;
}

/** Writes a file with a genuine request, and one whose method is a terminal sequence. */
function captureFile(one: string): string {
  const headers = [["X-SVC-Delivery-Id", one]];
  const request = { at: "", method: "POST", path: one, headers, body: "e30=", verdict: one };
  const lines = [request, { ...request, method: `GE${one}T` }];
  const file = newFile("hostile.jsonl");
  writeFileSync(file, lines.map((line) => `${JSON.stringify(line)}\n`).join(""));
  return file;
}

/** Writes a file with a genuine request whose body and headers have the text, and one that is not JSON. */
function genuineFile(one: string): string {
  const headers = [["X-SVC-Delivery-Id", one]];
  const request = { at: new Date(0).toISOString(), method: "POST", path: "/", headers };
  const lines = [JSON.stringify({ type: one, [one]: one }), one].map((body) =>
    JSON.stringify({ ...request, body: Buffer.from(body).toString("base64"), verdict: "genuine" }),
  );
  const file = newFile("genuine.jsonl");
  writeFileSync(file, `${lines.join("\n")}\n`);
  return file;
}

const email = ["--from=a@b.test", "--to=c@d.test", "--subject=s", "--text=t"];

/** Writes a module with a receiver that has no record. */
function receiverFile(): string {
  const file = newFile("receiver.mjs");
  writeFileSync(file, "export default { peek: async (ids) => ids.map(() => undefined) };");
  return file;
}

/** The arguments of every command that prints data from outside. */
const argumentsOf: Readonly<Record<string, (url: string) => readonly string[]>> = {
  replay: (url) => [captureFile(text), "--to", url],
  redact: () => [genuineFile(text), "--out", newFile("out")],
  drift: () => [genuineFile(text)],
  verify: () => ["--secret-env=SECRET", "--explain", "--signature", text],
  doctor: (url) => [url, "--secret-env=SECRET"],
  conformance: (url) => [url, "--secret-env=SECRET"],
  "service trigger": () => ["email.sent"],
  "service emails send": () => email,
  "service sends get": () => ["send_1"],
  "service domains add": () => ["a.test"],
  "service domains list": () => [],
  "service domains verify": () => ["dom_1"],
  "service endpoints create": () => ["--url=http://x/", "--event=email.sent"],
  "service endpoints list": () => [],
  "service endpoints rotate-secret": () => ["we_1"],
  "service endpoints archive": () => ["we_1"],
  "service events list": () => [],
  "service events get": () => [text],
  "service events redeliver": () => ["evt_1"],
  "service events redeliver-failed": () => ["we_1"],
  "service event-types list": () => [],
  reconcile: () => [`--receiver=${receiverFile()}`, "--endpoint=we_1", "--redeliver"],
};

function expectHarmless(output: string): void {
  expect(output).not.toMatch(/(?!\n)[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/u);
  expect(output).not.toMatch(/leaked/);
  for (const one of [secret, apiKey]) expect(output).not.toContain(one);
}

describe.each([
  ["succeeds", 200],
  ["fails", 400],
])("a hostile service that %s does nothing to a terminal and prints no secret", (_, status) => {
  describe.each([
    ["as text", []],
    ["with --json", ["--json"]],
  ])("%s", (_form, flags) => {
    test.each(Object.keys(argumentsOf))("%s", async (name) => {
      const url = await serviceOf(text, status);
      const words = [...name.split(" "), ...(argumentsOf[name]?.(url) ?? []), ...flags];
      const output = await outputOf(words, url);
      expectHarmless(output);
      // Only these commands are meant to print a secret.
      const isShown = status === 200 && /^service endpoints (?:create|rotate)/.test(name);
      expect(output.includes(created)).toBe(isShown);
    });

    test("listen", async () => {
      const url = await serviceOf(text, status);
      const known = ["--secret-env=SECRET", "--forward-to", url];
      let isSent = false;
      const forwarding = await outputOf(
        ["listen", "--port=0", ...known, ...flags],
        url,
        (output) => {
          const [to] = /http:\/\/127[\d.:]+/.exec(output) ?? [];
          if (to !== undefined && !isSent) {
            isSent = true;
            void deliver(to, { type: text }, { deliveryId: "dlv_1" });
          }
          return /dlv_1[^]*\n/.test(output);
        },
      );
      expectHarmless(forwarding);
      const registering = await outputOf(["listen", "--port=0", ...flags], url, (output) =>
        output.includes(created),
      );
      expectHarmless(registering);
      expect(registering.includes(created)).toBe(status === 200);
    });
  });
});

describe("a secret is masked before the text that contains it is cut", () => {
  /** Returns a text that is cut within the key after `length` characters. */
  const around = (length: number, filler = "x") => filler.repeat(length - 10) + apiKey;
  const start = apiKey.slice(0, 4);

  test.each([
    ["a value", ["service", "sends", "get", "send_1"], around(1_000)],
    [
      "a value with zero-width characters",
      ["service", "sends", "get", "send_1"],
      around(3_988, "\u200b"),
    ],
    ["a column", ["service", "event-types", "list"], around(80)],
    [
      "a column with zero-width characters",
      ["service", "event-types", "list"],
      around(320, "\u200b"),
    ],
  ])("%s", async (_what, words, long) => {
    const output = await outputOf(words, await serviceOf(long));
    expect(output).toContain("…");
    expect(output).not.toContain(start);
  });

  test("a delivery id in a saved request", async () => {
    const file = captureFile(around(80));
    const output = await outputOf(["replay", file, "--to", await serviceOf("", 400)], "");
    expect(output).toContain("xx…");
    expect(output).not.toContain(start);
  });

  test.each([
    ["a type", around(60), ""],
    ["a response", "email.sent", around(200)],
    ["a response with zero-width characters", "email.sent", around(800, "\u200b")],
    ["a response with control characters", "email.sent", around(4_096, "\u0000")],
  ])("%s in listen", async (_what, type, response) => {
    const target = await listen((request, reply) => {
      request.resume().on("end", () => reply.writeHead(400).end(response));
    });
    const forwarding = ["--secret-env=SECRET", "--forward-to", `http://127.0.0.1:${target}/`];
    const sending = new Set<Promise<unknown>>();
    const output = await outputOf(["listen", "--port=0", ...forwarding], "", (written) => {
      const [to] = /http:\/\/127[\d.:]+/.exec(written) ?? [];
      if (to !== undefined && sending.size === 0)
        sending.add(deliver(to, { type }, { deliveryId: "dlv_1" }));
      return /did not accept a genuine delivery/.test(written);
    });
    expect(output).toContain("…");
    expect(output).not.toContain(start);
  });
});

test("every command that prints what others send is among them", () => {
  const others = new Set(["dev", "sandbox", "sign", "listen", "completions", "crash-test", "mcp"]);
  // The texts in queues are those of `inbox.test.ts`. The tools of `mcp` have tests of their own.
  const names = commands
    .map(({ name }) => name)
    .filter((name) => !others.has(name) && !name.startsWith("inbox "));
  expect(Object.keys(argumentsOf).toSorted()).toEqual(names.toSorted());
});

test("JSON with masked texts is JSON", async () => {
  const subject = String.raw`the secret "whsec_ab"leaked\", and {"key":"svc_live_a.leaked"}`;
  const url = await serviceWith(200, JSON.stringify({ send_id: "send_1", subject }));
  const output = await outputOf(["service", "sends", "get", "send_1", "--json"], url);
  expect(JSON.parse(output)).toEqual({
    send_id: "send_1",
    subject: 'the secret "whsec_… and {"key":"svc_live_…',
  });
});

describe("fields of other types than the interface assumes", () => {
  const services = Object.keys(argumentsOf).filter((name) => /^(?:service|reconcile)/.test(name));

  const odd: readonly unknown[] = [
    null,
    5,
    true,
    "x",
    [],
    [null],
    [{}],
    [["x"]],
    {},
    { toString: 1, valueOf: 1, join: 1, map: 1 },
  ];

  /** Yields responses in which every field has the value, or every field of the objects and lists in them. */
  function* responsesOf(value: unknown): Generator {
    const known = anything("x");
    const fields = (one: object) =>
      Object.fromEntries(Object.keys(one).map((name) => [name, value]));
    yield { ...fields(known), send_id: "send_1", secret: created, data: [value] };
    yield {
      ...known,
      recipients: { to: value },
      history: [fields({ status: "", at: "" })],
      webhook_endpoint: fields({ ...known.webhook_endpoint, status: "" }),
      data: [{ ...fields(known), created_at: value, next_attempt_at: value, status: "failed" }],
    };
  }

  test.each(services)("%s prints them, or a sentence", async (name) => {
    for (const value of odd) {
      for (const body of responsesOf(value)) {
        const url = await serviceWith(200, JSON.stringify(body));
        const words = [...name.split(" "), ...(argumentsOf[name]?.(url) ?? [])];
        const output = await outputOf(words, url);
        expect(output).not.toMatch(/is not (?:a function|iterable)|Cannot |\[object/);
        const isShown = /^service endpoints (?:create|rotate)/.test(name);
        expect(output.includes(created)).toBe(isShown);
      }
    }
  });

  test.each([null, 5, { webhook_endpoint_id: { toString: 1 } }])(
    "listen prints the secret of the endpoint %j",
    async (webhook_endpoint) => {
      const body = { data: [{ type: "x" }], webhook_endpoint, secret: created };
      const url = await serviceWith(200, JSON.stringify(body));
      const output = await outputOf(["listen", "--port=0"], url, (one) => one.includes(created));
      expect(output).toMatch(/^Listening at \S+\nThe secret for your receiver: whsec_\w+\n/);
    },
  );

  test.each([
    ["x", "x"],
    [[{}], "{}"],
    [[{ status: "sent" }, null, "x"], '{"status":"sent"}, null, x'],
    [
      [
        { status: "sent", at: "12:00" },
        { status: "bounced", at: "12:01" },
      ],
      "sent 12:00, bounced 12:01",
    ],
  ])("service sends get prints the history %j as %s", async (history, shown) => {
    const url = await serviceWith(200, JSON.stringify({ send_id: "send_1", history }));
    const output = await outputOf(["service", "sends", "get", "send_1"], url);
    expect(output).toMatch(/^send_id +send_1\nhistory +/);
    expect(output.endsWith(` ${shown}\n`)).toBe(true);
  });
});

test("a saved request whose method is not a token of HTTP is not a request", () => {
  const request = { at: "", path: "/", headers: [], body: "", verdict: "genuine" };
  const parse = (method: string) => parseCaptured(JSON.stringify({ ...request, method }));
  for (const method of ["", "GE T", `GE${controls}T`, "(GET)", "GÉT"]) {
    expect(parse(method)).toBeUndefined();
  }
  for (const method of ["POST", "M-SEARCH", "x!#$%&'*+.^_`|~1"]) {
    expect(parse(method)?.method).toBe(method);
  }
});
