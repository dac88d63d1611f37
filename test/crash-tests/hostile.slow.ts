import { ownTime } from "@svc-webhooks/kit/own-time";
import { spawn } from "node:child_process";
import * as crypto from "node:crypto";
import { mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { get } from "node:http";
import { connect, createServer, type AddressInfo } from "node:net";
import { basename, join } from "node:path";
import { buffer } from "node:stream/consumers";
import * as timers from "node:timers";
import * as timersPromises from "node:timers/promises";
import { promisify } from "node:util";
import * as zlib from "node:zlib";
import { createReceiver, type ReceiverOptions } from "@svc-webhooks/core";
import { node, outsideDirectory, root } from "@svc-webhooks/kit/programs";
import { fixture } from "@svc-webhooks/testing";
import {
  crashReport,
  crashTest,
  type CrashTestOptions,
  type CrashTestReport,
  type World,
} from "@svc-webhooks/testing/crash-test";
import { afterAll, beforeAll, describe, expect, test } from "vitest";

type Handle = (
  event: unknown,
  context: { readonly signal: AbortSignal; readonly idempotencyKey: string },
) => unknown;

const silent = { info() {}, warn() {}, error() {} };
const url = "http://api.example.com/charge";

const receiverOf = ({ secret, clock, store }: World, handle: Handle) =>
  createReceiver({
    name: "hostile",
    secret,
    clock,
    store,
    logger: silent,
    on: { "*": handle } as ReceiverOptions["on"],
  });

const optionsFor = (handle: Handle, options: Partial<CrashTestOptions> = {}): CrashTestOptions => ({
  events: [fixture("email.delivered")],
  maxFaults: 1,
  receiver: (world) => receiverOf(world, handle),
  ...options,
});

const namesOf = ({ findings }: CrashTestReport) =>
  findings.map(({ kind, effect }) => `${kind} ${effect}`);

async function charging(init: RequestInit = {}): Promise<Response> {
  const response = await fetch(url, { method: "POST", ...init });
  if (!response.ok) throw new Error("The charge failed.");
  return response;
}

/** A correct handler. */
const keyed: Handle = (_event, { idempotencyKey }) =>
  charging({ headers: { "Idempotency-Key": idempotencyKey } });

/** Returns a handler that also makes a call that is correct: a crash test needs an effect. */
const withEffect =
  (handle: Handle): Handle =>
  async (event, context) => {
    await handle(event, context);
    await keyed(event, context);
  };

/** Returns the message of the error with which a crash test ends. */
async function errorOf(options: CrashTestOptions): Promise<string> {
  const error = await crashTest(options).then(
    () => undefined,
    (rejected: unknown) => rejected,
  );
  if (!(error instanceof Error)) throw new Error("The crash test did not reject with an error.");
  return `${"code" in error ? String(error.code) : error.name}: ${error.message}`;
}

describe("handlers that throw", () => {
  const thrown = {
    "a text": "text",
    undefined: undefined,
    null: null,
    "a symbol": Symbol("thrown"),
    "an object without a prototype": Object.create(null) as object,
    "an error whose message cannot be read": Object.defineProperty(new Error("x"), "message", {
      get() {
        throw new Error("no message");
      },
    }),
  };

  test.each(Object.entries(thrown))("%s are not acknowledged", async (_name, value) => {
    const handle = () => {
      throw value;
    };
    expect(await errorOf(optionsFor(handle))).toMatch(
      /^not_acknowledged: email\.delivered is not acknowledged/,
    );
  });

  test.each(Object.entries(thrown).slice(3))(
    "%s without a catch end the process",
    async (_name, value) => {
      const handle = async () => {
        // oxlint-disable-next-line typescript/prefer-promise-reject-errors -- the mistake that is tested
        void Promise.reject(value);
        await charging();
      };
      expect(await errorOf(optionsFor(handle))).toMatch(
        /^not_acknowledged: .*\n[^]*ends: unhandled error: /,
      );
    },
  );
});

const isEnded = /^not_acknowledged: [^]*A {2}ends: unhandled error: planned/;

test.each<{ readonly where: string; readonly handle: Handle }>([
  { where: "a timer", handle: () => void setTimeout(fail, 5) },
  { where: "an interval", handle: () => void setInterval(fail, 5) },
  { where: "a turn of the event loop", handle: () => void setImmediate(fail) },
  { where: "a tick", handle: () => process.nextTick(fail) },
  { where: "a microtask", handle: () => queueMicrotask(fail) },
  { where: "node:timers", handle: () => void timers.setTimeout(fail, 5) },
  {
    where: "a late rejection",
    handle: () => void timersPromises.setTimeout(5).then(fail),
  },
  {
    where: "an abort signal",
    handle: () => AbortSignal.timeout(5).addEventListener("abort", fail),
  },
])("an error of $where ends the simulated process, not this one", async ({ handle }) => {
  const waiting: Handle = async (event, context) => {
    handle(event, context);
    await timersPromises.setTimeout(50);
  };
  expect(await errorOf(optionsFor(waiting))).toMatch(isEnded);
});

function fail(): never {
  throw new Error("planned");
}

test.each<{ readonly what: string; readonly handle: Handle }>([
  { what: "never settles", handle: () => new Promise(() => {}) },
  {
    what: "never settles and ignores its signal",
    handle: () => new Promise(() => void setInterval(() => {}, 1_000)),
  },
])("a handler that $what is not acknowledged", async ({ handle }) => {
  expect(await errorOf(optionsFor(handle))).toMatch(/^not_acknowledged: /);
});

test.each<{ readonly what: string; readonly handle: Handle }>([
  { what: "calls setInterval forever", handle: () => void setInterval(() => {}, 1_000) },
  {
    what: "starts thousands of promises",
    handle: () => Promise.all(Array.from({ length: 5_000 }, (_none, at) => Promise.resolve(at))),
  },
  {
    what: "uses timers of all kinds",
    handle: async () => {
      await promisify(setTimeout)(1_000);
      await promisify(setImmediate)();
      await promisify(timers.setTimeout)(1_000);
      await timersPromises.setTimeout(1_000);
      await timersPromises.scheduler.wait(1_000);
      await timersPromises.scheduler.yield();
      for await (const tick of timersPromises.setInterval(1_000, "tick")) if (tick !== "") break;
      const timer = setTimeout(fail, 10);
      clearTimeout(Number(timer));
      await new Promise((resolve) => setTimeout(resolve, "10" as unknown as number));
      await new Promise((resolve) => setTimeout(resolve, Number.POSITIVE_INFINITY));
      structuredClone({ at: new Date(), values: new Uint8Array(3) });
    },
  },
])("a handler that $what gets no finding", async ({ handle }) => {
  const started = ownTime();
  const { findings, tried } = await crashTest(optionsFor(withEffect(handle)));
  expect(findings).toEqual([]);
  expect(tried[0]?.run).toBe(tried[0]?.of);
  // The timers take seconds in each history, none of them in real time.
  expect(ownTime() - started).toBeLessThan(1_000 * (tried[0]?.run ?? 0));
});

const body = Buffer.alloc(4_000_000, "body of a request");

test.each<{ readonly what: string; readonly work: () => Promise<unknown> }>([
  { what: "gzip", work: () => promisify(zlib.gzip)(body) },
  { what: "brotliCompress", work: () => promisify(zlib.brotliCompress)(body) },
  {
    what: "a stream of node:zlib that is opened early",
    work: async () => {
      const stream = zlib.createGzip();
      await timersPromises.setTimeout(1_000);
      stream.end(body);
      return buffer(stream);
    },
  },
  {
    what: "CompressionStream",
    work: () => buffer(new Blob([body]).stream().pipeThrough(new CompressionStream("gzip"))),
  },
  { what: "pbkdf2", work: () => promisify(crypto.pbkdf2)("key", "salt", 50_000, 32, "sha256") },
  { what: "scrypt", work: () => promisify(crypto.scrypt)("key", "salt", 32) },
  { what: "checkPrime", work: () => promisify(crypto.checkPrime)(2n ** 521n - 1n) },
])("a handler that waits for $what takes no time", async ({ work }) => {
  const took: number[] = [];
  const handle: Handle = async (event, context) => {
    const started = Date.now();
    await work();
    took.push(Date.now() - started);
    await keyed(event, context);
  };
  const { findings, points } = await crashTest(optionsFor(handle, { faults: ["response_lost"] }));
  expect(findings).toEqual([]);
  expect(points).toBe(6);
  expect(new Set(took.map((ms) => ms % 1_000))).toEqual(new Set([0]));
});

test("timers and clocks agree on the time that passes", async () => {
  const seen: number[] = [];
  const handle = async () => {
    const started = [Date.now(), performance.now(), new Date().getTime()];
    await timersPromises.setTimeout(2_500);
    const ended = [Date.now(), performance.now(), new Date().getTime()];
    seen.push(...ended.map((at, place) => at - Number(started[place])));
  };
  await crashTest(optionsFor(withEffect(handle)));
  expect(new Set(seen)).toEqual(new Set([2_500]));
});

test.each<{ readonly what: string; readonly handle: Handle }>([
  {
    what: "turns the event loop forever",
    handle() {
      const spin = () => void setImmediate(spin);
      spin();
    },
  },
  {
    what: "sets a timer of 0 ms forever",
    handle() {
      const spin = () => void setTimeout(spin, 0);
      spin();
    },
  },
])("a handler that $what is an error with a fix", async ({ handle }) => {
  expect(await errorOf(optionsFor(handle))).toMatch(/^endless: .*End loops when/);
});

test.each<{ readonly body: string; readonly send: () => Promise<Response> }>([
  { body: "a text", send: () => charging({ body: "text" }) },
  {
    body: "a stream",
    send: () => charging({ body: new Blob(["text"]).stream(), duplex: "half" } as RequestInit),
  },
  { body: "a Request", send: () => fetch(new Request(url, { method: "POST", body: "text" })) },
  {
    body: "a URL and a form",
    send: () => fetch(new URL(url), { method: "POST", body: new URLSearchParams("text") }),
  },
])("fetch sends $body to `respond`, never to the network", async ({ send }) => {
  const bodies: string[] = [];
  const respond = async (request: Request) => {
    bodies.push(await request.text());
    return new Response(new Blob(["response"]).stream());
  };
  const handle = async () => {
    if ((await (await send()).text()) !== "response") throw new Error("another response");
  };
  expect(namesOf(await crashReport(optionsFor(handle, { respond })))).toEqual([
    "duplicate POST api.example.com/charge",
  ]);
  expect(new Set(bodies)).toEqual(new Set([bodies[0]]));
  expect(bodies[0]).toMatch(/^text=?$/);
});

test("fetch with a signal that is aborted, or will be, rejects as the real one does", async () => {
  const names: string[] = [];
  const note = (error: unknown) => void names.push((error as Error).name);
  const handle = async () => {
    await fetch(url, { signal: AbortSignal.abort() }).catch(note);
    const signal = AbortSignal.timeout(1_000);
    await fetch("http://api.example.com/slow", { signal }).catch(note);
    await fetch("relative").catch(note);
  };
  const respond = (request: Request) =>
    request.url.endsWith("slow") ? new Promise<Response>(() => {}) : Response.json({});
  await crashTest(optionsFor(withEffect(handle), { respond, faults: ["crash"] }));
  expect(names.slice(0, 3)).toEqual(["AbortError", "TimeoutError", "TypeError"]);
});

describe("a `respond` that", () => {
  const handle = async () => {
    await charging();
  };

  test.each<{
    readonly what: string;
    readonly respond: () => Response | Promise<Response>;
    readonly text: RegExp;
  }>([
    {
      what: "throws",
      respond: fail,
      text: /POST api\.example\.com\/charge rejects: `respond` threw an error: planned/,
    },
    {
      what: "calls fetch",
      respond: () => fetch(url),
      text: /rejects: `respond`, `observe` and .* must not call `fetch`\./,
    },
    {
      what: "returns nothing",
      respond: () => undefined as unknown as Response,
      text: /rejects: `respond` must return a Response/,
    },
    { what: "never resolves", respond: () => new Promise(() => {}), text: /attempt 1: / },
  ])("$what is named in the error", async ({ respond, text }) => {
    const message = await errorOf(optionsFor(handle, { respond }));
    expect(message).toMatch(/^not_acknowledged: /);
    expect(message).toMatch(text);
  });

  test("sleeps takes virtual time", async () => {
    const respond = async () => {
      await timersPromises.setTimeout(3_000);
      await new Promise((resolve) => setTimeout(resolve, 3_000));
      return Response.json({});
    };
    const report = await crashReport(optionsFor(handle, { respond }));
    expect(namesOf(report)).toEqual(["duplicate POST api.example.com/charge"]);
  });
});

test.each<{ readonly what: string; readonly observe: () => unknown; readonly text: RegExp }>([
  {
    what: "throws",
    observe: fail,
    text: /^invalid_option: `observe\.mails` threw an error: planned/,
  },
  {
    what: "never resolves",
    observe: () => new Promise(() => {}),
    text: /`observe\.mails` does not resolve/,
  },
  {
    what: "sleeps",
    observe: () => timersPromises.setTimeout(5),
    text: /`observe\.mails` does not resolve\. It must not wait/,
  },
  {
    what: "returns a number that JSON lacks",
    observe: () => 1n,
    text: /`observe\.mails` returns a value that/,
  },
  {
    what: "returns a function",
    observe: () => fail,
    text: /`observe\.mails` returns a value that/,
  },
])("an `observe` that $what is named in the error", async ({ observe, text }) => {
  expect(await errorOf(optionsFor(keyed, { observe: { mails: observe } }))).toMatch(text);
});

test("the error of an option has the original one as its cause", async () => {
  const cause = new Error("planned");
  const receiver = () => Promise.reject(cause);
  await expect(crashTest(optionsFor(keyed, { receiver }))).rejects.toMatchObject({ cause });
});

test.each<{
  readonly what: string;
  readonly prepare: CrashTestOptions["prepare"];
  readonly text: RegExp;
}>([
  { what: "throws", prepare: fail, text: /^invalid_option: `prepare` threw an error: planned/ },
  {
    what: "rejects",
    prepare: async () => fail(),
    text: /^invalid_option: `prepare` threw an error: planned/,
  },
  {
    what: "never resolves",
    prepare: () => new Promise(() => {}),
    text: /^invalid_option: `prepare` does not resolve/,
  },
])("a `prepare` that $what is named in the error", async ({ prepare, text }) => {
  expect(await errorOf(optionsFor(keyed, { prepare }))).toMatch(text);
});

const isPlanned = /^invalid_option: `receiver` threw an error: planned/;

describe("a `receiver` that", () => {
  test.each<{
    readonly what: string;
    readonly receiver: CrashTestOptions["receiver"];
    readonly text: RegExp;
  }>([
    { what: "throws", receiver: fail, text: isPlanned },
    { what: "rejects", receiver: async () => fail(), text: isPlanned },
    {
      what: "throws in a timer",
      receiver: () => new Promise(() => void setTimeout(fail, 5)),
      text: isPlanned,
    },
    {
      what: "returns nothing",
      receiver: () => undefined as never,
      text: /^invalid_option: `receiver` must return the receiver that it creates/,
    },
    {
      what: "returns a handler",
      receiver: () => fail as never,
      text: /^invalid_option: `receiver` must return/,
    },
    {
      what: "never resolves",
      receiver: () => new Promise(() => {}),
      text: /waits for something that never happens/,
    },
    {
      what: "never resolves while an interval runs",
      receiver: () => new Promise(() => void setInterval(() => {}, 1_000)),
      text: /^endless: /,
    },
  ])("$what is an error", async ({ receiver, text }) => {
    expect(await errorOf(optionsFor(keyed, { receiver }))).toMatch(text);
  });

  test.each([
    { what: "throws", again: fail, text: isPlanned },
    {
      what: "returns nothing",
      again: () => undefined as never,
      text: /^invalid_option: `receiver` must/,
    },
  ])("$what at the second start of a history only is an error", async ({ again, text }) => {
    // Only a process that replaces a crashed one starts after the first instant of a history.
    const isFirst = ({ clock }: World) => clock.monotonic() === 0;
    const receiver = (world: World) => (isFirst(world) ? receiverOf(world, keyed) : again());
    expect(await errorOf(optionsFor(keyed, { receiver }))).toMatch(text);
  });

  test("rejects each delivery is an error", async () => {
    const receiver = (world: World) => ({
      ...receiverOf(world, keyed),
      receive: () => Promise.reject(new Error("planned")),
    });
    expect(await errorOf(optionsFor(keyed, { receiver }))).toMatch(/planned/);
  });
});

test("processes after the 26th have readable names", async () => {
  const handle = () => void Promise.reject(new Error("planned"));
  const message = await errorOf(optionsFor(handle));
  expect(message).not.toMatch(/ {2}[^\w\s] {2}ends/);
});

test("a crash test inside of another one is an error", async () => {
  const errors: unknown[] = [];
  const handle = async () => {
    await crashTest(optionsFor(keyed)).catch((error: unknown) => errors.push(error));
  };
  await crashTest(optionsFor(withEffect(handle)));
  expect(errors[0]).toMatchObject({
    code: "invalid_option",
    message: expect.stringContaining("Start it from a test instead."),
  });
});

test("an event that is not acknowledged is named, with the outcome of each attempt", async () => {
  const message = await errorOf(optionsFor(fail));
  expect(message.split("\n").slice(0, 3)).toEqual([
    "not_acknowledged: email.delivered is not acknowledged, even without a fault. Fix this first:",
    expect.stringMatching(/^ {2}A {2}/),
    expect.stringMatching(/^ {2}/),
  ]);
  expect(message).toMatch(/attempt 1: 500 handler_failed/);
});

test("control characters in the name of an effect cannot change the report", async () => {
  const name = "charge\n✗ forged\u001b[31m\u202e";
  const receiver = (world: World) => {
    const charge = world.effect(name, () => {});
    return receiverOf(world, () => charge());
  };
  const report = await crashReport(optionsFor(keyed, { receiver }));
  expect(namesOf(report)).toEqual([String.raw`duplicate charge\n✗ forged\u001b[31m\u202e`]);
  expect(report.text).not.toMatch(/\n✗ forged|\p{Cc}\[|\u202e/u);
  const accept = namesOf(report);
  expect(namesOf(await crashTest(optionsFor(keyed, { receiver, accept })))).toEqual([]);
});

test.each([
  ["a name that is empty", (world: World) => world.effect(" ", () => {})],
  ["no function", (world: World) => world.effect("charge", undefined as never)],
])("world.effect with %s is an error", async (_what, misuse) => {
  const receiver = (world: World) => {
    misuse(world);
    return receiverOf(world, keyed);
  };
  expect(await errorOf(optionsFor(keyed, { receiver }))).toMatch(
    /^invalid_option: `world\.effect` needs a name and a function/,
  );
});

const wrong: readonly (readonly [name: string, options: unknown])[] = [
  ["no options", undefined],
  ["null", null],
  ["a text", "options"],
  ["an unknown option", { ...optionsFor(keyed), maxFault: 1 }],
  ...Object.entries({
    receiver: [undefined, null, {}, receiverOf],
    events: [
      undefined,
      [],
      "email",
      Array.from({ length: 4 }, () => fixture("email.sent")),
      [undefined],
      [5],
      [fail],
      [[]],
      [{ size: 1n }],
    ],
    prepare: [null, 5, {}],
    respond: [null, "text", Response.json({})],
    observe: [null, 5, [1], { mails: [] }, "text"],
    accept: [
      null,
      "duplicate slack",
      ["slack"],
      [5],
      [["duplicate slack"]],
      ["stuck slack"],
      ["duplicate "],
    ],
    faults: [null, "crash", [], ["kill"], [undefined]],
    maxFaults: [null, 0, 4, 1.5, "2", Number.NaN],
    maxHistories: [null, -1, 1.5, 1_000_001, "5"],
    seed: [null, 1.5, "1", Number.NaN, 2 ** 60],
    only: [
      null,
      5,
      "",
      "crash",
      "crash@0",
      "kill@1",
      "crash@7 crash@3",
      "crash@3, fail@5",
      ["crash@3"],
    ],
    reportTo: [null, "", 5, {}],
  }).flatMap(([name, values]) =>
    values
      .filter((value) => value !== receiverOf)
      .map(
        (value) => [`${name}: ${typeof value}`, { ...optionsFor(keyed), [name]: value }] as const,
      ),
  ),
];

test.each(wrong)("%s is an error that names the option and the fix", async (name, options) => {
  const message = await errorOf(options as CrashTestOptions);
  const [option = ""] = name.split(":");
  expect(message).toMatch(/^invalid_option: /);
  expect(message).toMatch(/ must | needs |The options are/);
  if (name.includes(":")) expect(message).toContain(`\`${option}`);
});

describe("a project without a package that `world.pool` needs", () => {
  const script = `
    import { createReceiver } from "@svc-webhooks/core";
    import { fixture } from "@svc-webhooks/testing";
    import { crashTest } from "@svc-webhooks/testing/crash-test";
    const logger = { info() {}, warn() {}, error() {} };
    const on = (pool) => ({ "*": () => pool.query("select 1") });
    const receiver = ({ secret, clock, pool }) => createReceiver({ secret, clock, on: on(pool), logger });
    const prepare = process.argv[1] === "prepare" ? ({ pool }) => pool.query("select 1") : undefined;
    await crashTest({ events: [fixture("email.sent")], receiver, prepare }).catch((error) => {
      process.stdout.write(error.code + ": " + error.message);
    });`;

  /** Creates a project that has the packages of this repository, and `others`. */
  function projectWith(others: readonly string[]): string {
    const project = outsideDirectory();
    const folder = join(project, "node_modules");
    mkdirSync(join(folder, "@svc-webhooks"), { recursive: true });
    for (const path of ["packages/core", "packages/schemes", "tools/testing", "tools/crash-test"]) {
      const linked = join(folder, "@svc-webhooks", basename(path));
      symlinkSync(join(root, path), linked, "junction");
    }
    for (const name of others) {
      const path = JSON.stringify(join(root, "node_modules", name));
      mkdirSync(join(folder, name), { recursive: true });
      writeFileSync(join(folder, name, "index.js"), `module.exports = require(${path});`);
    }
    return project;
  }

  test.each([
    { missing: "pg", others: ["@electric-sql/pglite"], where: "prepare" },
    { missing: "pg", others: [], where: "receiver" },
    { missing: "PGlite", others: ["pg"], where: "prepare" },
    { missing: "PGlite", others: ["pg"], where: "receiver" },
  ])("$missing, first used in $where, gets the line that installs it", async (row) => {
    const args = ["--preserve-symlinks", "--input-type=module", "--eval", script, row.where];
    const { stdout, stderr } = await node(args, { cwd: projectWith(row.others) });
    expect(stdout).toMatch(
      new RegExp(
        `^package_missing: \`world\\.pool\` needs ${row.missing}[^]* npm install --save-dev @electric-sql/pglite pg$`,
      ),
    );
    expect(stderr).toBe("");
  });
});

describe("access that is not a crossing", () => {
  const server = createServer((socket) => void socket.end("HTTP/1.1 200 OK\r\n\r\n"));
  let port = 0;
  const line = /at test\/crash-tests\/hostile\.slow\.ts:\d+/;

  beforeAll(async () => {
    await new Promise<void>((resolve) => void server.listen(0, "127.0.0.1", resolve));
    ({ port } = server.address() as AddressInfo);
  });

  afterAll(() => void server.close());

  test.each<{ readonly what: string; readonly name: RegExp; readonly access: () => unknown }>([
    { what: "node:http", name: /a TCP socket/, access: () => get({ port }).on("error", () => {}) },
    { what: "node:net", name: /a TCP socket/, access: () => connect(port).on("error", () => {}) },
    {
      what: "a file",
      name: /a file \(node:fs\/promises\)/,
      access: () => readFile("package.json"),
    },
    {
      what: "a child process",
      name: /a child process/,
      access: () => spawn(process.execPath, ["-v"]),
    },
  ])("is named for $what, with its line, and the report is not green", async ({ name, access }) => {
    const handle = withEffect(() => void access());
    const report = await crashReport(optionsFor(handle, { faults: ["response_lost"] }));
    const named = report.unseen.find((text) => name.test(text));
    expect(named).toMatch(line);
    const message = await errorOf(optionsFor(handle, { faults: ["response_lost"] }));
    expect(message).toMatch(/^unseen_access: /);
    expect(message).toContain("wrap these calls with `world.effect`");
  });

  test("by a socket ends the test after one history, because each history would open it again", async () => {
    let count = 0;
    const handle = withEffect(
      () =>
        new Promise<void>((resolve) => {
          count += 1;
          connect(port).on("error", resolve).on("close", resolve).resume();
        }),
    );
    const report = await crashReport(optionsFor(handle, { accept: ["duplicate mail"] }));
    expect(count).toBe(1);
    expect(report.tried).toEqual([]);
    expect(report.text).toContain("Run: one history without a fault.");
    expect(report.unseen.join("; ")).toMatch(line);
  });

  test("that a handler awaits is named in the error, if the event is never acknowledged", async () => {
    const handle = () =>
      new Promise((resolve, reject) => {
        connect(port).on("data", resolve).on("error", reject);
      });
    const message = await errorOf(optionsFor(handle, { faults: ["response_lost"] }));
    expect(message).toMatch(/a TCP socket at test\/crash-tests\/hostile\.slow\.ts:\d+/);
    expect(message).toContain("`world.effect`");
  });

  test("by another test of the process is not named", async () => {
    const state = { isOver: false };
    const run = crashTest(optionsFor(keyed)).finally(() => {
      state.isOver = true;
    });
    while (!state.isOver) {
      await Promise.all([
        readFile("package.json"),
        new Promise((resolve) => connect(port).on("close", resolve).resume()),
        new Promise((resolve) => get({ port }, (response) => response.resume().on("end", resolve))),
      ]);
    }
    expect((await run).unseen).toEqual([]);
  });
});
