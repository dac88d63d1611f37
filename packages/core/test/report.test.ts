import { eventBody, secret, signed } from "@svc-webhooks/kit/deliveries";
import { settled } from "@svc-webhooks/kit/settled";
import { type FakeClock } from "@svc-webhooks/testing";
import { afterEach, beforeEach, describe, expect, test, vi, type MockInstance } from "vitest";
import {
  BodyError,
  createReceiver,
  type Delivery,
  type DeliveryReport,
  type ReceiverOptions,
} from "../src/index.js";
import { bothWays, codesOf, observed, pause, second, send, throwing, timed } from "./support.js";

const inject = "\r\n\u001B[31mFORGED\u2028\u0007é";

/** One line of printable ASCII, without line breaks or terminal sequences. */
const oneSafeLine = /^[ -~]+$/;

describe("a report", () => {
  test("contains all facts of a run and the time of each stage", async () => {
    let clock: FakeClock | undefined;
    const wait = async (ms: number) => clock && pause(clock, ms);
    const world = timed(
      {
        name: "billing",
        secret: () => wait(100).then(() => [{ id: "main", key: secret }]),
        on: { "*": () => wait(3_000) },
      },
      (store) => ({
        claim: (...call) => wait(200).then(() => store.claim(...call)),
        complete: (...call) => wait(700).then(() => store.complete(...call)),
      }),
    );
    clock = world.clock;
    const receivedAt = clock.now();
    const delivery = await signed(eventBody(), {
      "x-svc-attempt": "2",
      "x-svc-subscription-id": "sub_1",
      "x-svc-event-id": "evt_1",
    });
    const { body } = delivery;
    void world.receiver.receive({ ...delivery, body: () => wait(50).then(() => body) });
    await clock.advance(5_000);
    expect(world.reports).toEqual<DeliveryReport[]>([
      {
        phase: "answered",
        receiver: "billing",
        code: "processed",
        status: 200,
        receivedAt,
        bodyBytes: body.length,
        secretId: "main",
        deliveryId: "dlv_1",
        subscriptionId: "sub_1",
        attempt: 2,
        type: "email.sent",
        eventId: "evt_1",
        eventIdSigned: false,
        dedupe: "verified",
        run: 1,
        fence: receivedAt + 350,
        warnings: [],
        admitMs: 50,
        verifyMs: 100,
        decodeMs: 0,
        routeMs: 0,
        claimMs: 200,
        runMs: 3_700,
        totalMs: 4_050,
      },
    ]);
  });

  test.each<[string, readonly string[], () => Promise<Delivery>]>([
    [
      "encoding_unsupported",
      ["admitMs"],
      () => signed(eventBody(), { "content-encoding": "gzip" }),
    ],
    [
      "signature_mismatch",
      ["admitMs", "bodyBytes", "verifyMs"],
      () => signed(eventBody(), {}, "whsec_other"),
    ],
    [
      "event_untyped",
      ["admitMs", "verifyMs", "decodeMs", "bodyBytes", "deliveryId", "secretId"],
      () => signed("{}"),
    ],
  ])("of %s contains only the facts of the stages it reached", async (code, facts, delivery) => {
    const { receiver, reports } = timed();
    await receiver.receive(await delivery());
    const [report = {}] = reports;
    const defined = Object.entries(report).filter(([, value]) => value !== undefined);
    const always = ["code", "phase", "receivedAt", "receiver", "status", "totalMs", "warnings"];
    expect(defined.map(([fact]) => fact).toSorted()).toEqual([...always, ...facts].toSorted());
    expect(report).toMatchObject({ code });
  });

  test("contains the outcome and the fields that only operators need", async () => {
    const { receiver, reports } = timed();
    const outcomes = [await send(receiver), await send(receiver), await send(receiver, "[]")];
    expect(reports).toMatchObject(outcomes);
  });

  test("never contains the body, a key or a handler's error", async () => {
    const key = "whsec_0123456789";
    const { receiver, reports } = observed({
      secret: key,
      on: { "*": throwing(new Error("threw-this")) },
    });
    await send(receiver, eventBody("email.sent", { to: "someone@example.org" }), {}, key);
    await send(receiver, eventBody("email.sent", { to: "someone@example.org" }), {}, "wrong");
    await send(receiver, '{"to":"someone@example.org"}', {}, key);
    await send(receiver, '["someone@example.org"]', {}, key);
    expect(reports).toHaveLength(4);
    expect(JSON.stringify(reports)).not.toMatch(
      /someone|example\.org|threw-this|0123456789|sha256=/,
    );
  });
});

describe("hooks that fail do not change the outcome", () => {
  const fails: [string, () => unknown][] = [
    ...bothWays(new Error("hook down")),
    ["throws undefined", throwing(undefined)],
    ["rejects with an object that cannot be printed", () => Promise.reject(Object.create(null))],
  ];
  const hooks = ["observe", "onHandlerError", "onInternalError", "log"] as const;

  const failingRun = async (options: Partial<ReceiverOptions>) => {
    const { receiver } = timed({ on: { "*": throwing(new Error("no")) }, ...options }, () => ({
      release: throwing(new Error("read only")),
    }));
    const outcomes = [
      await send(receiver),
      await send(receiver),
      await send(receiver, "{}"),
      await send(receiver, "[]"),
    ];
    await settled();
    return outcomes;
  };

  test.each(fails.flatMap(([failure, fail]) => hooks.map((hook) => ({ hook, failure, fail }))))(
    "$hook that $failure",
    async ({ hook, fail }) => {
      const unhandled: unknown[] = [];
      const note = (reason: unknown) => unhandled.push(reason);
      process.on("unhandledRejection", note);
      const outcomes = await failingRun({ [hook]: fail });
      process.off("unhandledRejection", note);
      expect(outcomes).toEqual(await failingRun({}));
      expect(outcomes.map(({ code }) => code)).toEqual([
        "handler_failed",
        "in_flight",
        "event_untyped",
        "malformed_body",
      ]);
      expect(unhandled).toEqual([]);
    },
  );

  test.each(["observe", "onHandlerError", "log"] as const)(
    "onInternalError receives the error of %s",
    async (hook) => {
      const errors: unknown[] = [];
      const thrown = new Error("hook down");
      await failingRun({
        onInternalError: (error) => errors.push(error),
        [hook]: () => Promise.reject(thrown),
      });
      expect(errors).toContain(thrown);
    },
  );
});

describe("a line for the operator", () => {
  const failing = (message: string) => throwing(new Error(message));
  const unclaimable = (message: string) => ({
    store: { ...timed().store, claim: failing(message) },
  });
  const bodyBy = (body: Delivery["body"]) => async () => ({ ...(await signed()), body });
  const unreadable = (reason: unknown) => bodyBy(() => Promise.reject(reason));
  const misplaced = new BodyError("body_unavailable", "mount it before json()");
  const text = eventBody() as unknown as Uint8Array;

  test.each<[string, string, Partial<ReceiverOptions>, () => Promise<Delivery>]>([
    ["body_unavailable", "cut", {}, unreadable(new Error(`cut${inject}`))],
    ["body_unavailable", "mount it before json()", {}, unreadable(misplaced)],
    ["body_unavailable", "the body is not a Uint8Array", {}, bodyBy(async () => text)],
    ["body_unavailable", "", {}, unreadable(undefined)],
    ["body_unavailable", "999", {}, () => signed(eventBody(), { "content-length": "999" })],
    ["misconfigured", "vault", { secret: failing(`vault${inject}`) }, () => signed()],
    [
      "misconfigured",
      "eventId",
      { dedupeBy: "event", eventId: () => undefined },
      () => signed(eventBody(`type${inject}`)),
    ],
    [
      "store_unavailable",
      "down",
      unclaimable(`down${inject}`),
      () => signed(eventBody(`type${inject}`)),
    ],
    ["event_untyped", "eventType", {}, () => signed(JSON.stringify({ kind: inject }))],
    ["internal_error", "bug", { eventType: failing(`bug${inject}`) }, () => signed()],
    ["internal_error", "bug", { eventId: failing("bug") }, () => signed(eventBody(inject))],
  ])("is printed once for %s (%j), without unescaped text", async (...row) => {
    const [code, reason, options, delivery] = row;
    const { receiver, lines } = observed({ name: "billing", ...options });
    expect((await receiver.receive(await delivery())).code).toBe(code);
    expect(lines).toEqual([expect.stringMatching(oneSafeLine)]);
    expect(lines[0]).toContain(`svc-webhooks billing: ${code}: `);
    expect(lines[0]).toContain(reason);
  });

  test.each<[string, unknown]>([
    ["undefined", undefined],
    ["null", null],
    ["an empty string", ""],
    ["0", 0],
    ["a symbol", Symbol("odd")],
    ["an object without a prototype", Object.create(null)],
    ["an error without a text", new Error()],
  ])("is also printed if %s was thrown", async (_, thrown) => {
    const fail = throwing(thrown);
    const linesOf = async (options: Partial<ReceiverOptions>) => {
      const { receiver, lines } = observed(options);
      await send(receiver);
      return lines;
    };
    const line = (code: string) => [expect.stringContaining(code)];
    expect(await linesOf({ secret: fail })).toEqual(line("misconfigured"));
    expect(await linesOf({ eventType: fail })).toEqual(line("internal_error"));
    const store = { ...timed().store, claim: fail };
    expect(await linesOf({ store })).toEqual(line("store_unavailable"));
  });

  test("contains the delivery id and the type once they are known", async () => {
    const { receiver, lines } = observed(unclaimable("down"));
    await send(receiver, eventBody(`a"b${inject}`));
    expect(lines[0]).toContain('"deliveryId":"dlv_1"');
    expect(lines[0]).toContain(String.raw`a\"b\r\n\u001b[31mFORGED`);
  });

  test("is limited in length, even if the sender's text or an error is long", async () => {
    const { receiver, lines } = observed(unclaimable("x".repeat(10_000)));
    await send(receiver, eventBody("y".repeat(10_000)));
    expect(lines[0]?.length).toBeLessThan(1_200);
  });
});

describe("lines caused by requests", () => {
  const minute = 60 * second;
  const eventType: ReceiverOptions["eventType"] = ({ kind }) => {
    throw new Error(`kind ${String(kind)}`);
  };
  const kindOf = (kind: number) => JSON.stringify({ kind });

  test("are printed at most once a minute per cause, and the next one counts those omitted", async () => {
    const { receiver, clock, lines } = timed();
    await codesOf(receiver, 1_000, "{}");
    await clock.advance(minute - 1);
    await send(receiver, "{}");
    expect(lines).toHaveLength(1);
    await clock.advance(1);
    await send(receiver, "{}");
    expect(lines).toHaveLength(2);
    expect(lines[1]).toMatch(/event_untyped: .*\(and 1000 more\)$/);
    await clock.advance(minute);
    await send(receiver, "{}");
    expect(lines[2]).not.toContain("more");
  });

  test("are not multiplied by the text of unverified requests", async () => {
    const { receiver, lines } = timed();
    const { headers } = await signed();
    for (let length = 1; length < 200; length += 1) {
      const announced = { ...headers, "content-length": String(length + 1) };
      const body = new Uint8Array(length);
      const forged = await receiver.receive({ method: "POST", headers: announced, body });
      expect(forged.code).toBe("body_unavailable");
    }
    expect(lines).toHaveLength(1);
  });

  test("are limited separately per cause, for 100 causes a minute", async () => {
    const { receiver, clock, lines } = timed({ eventType });
    for (let kind = 0; kind < 500; kind += 1) await send(receiver, kindOf(kind));
    expect(lines).toHaveLength(101);
    await clock.advance(minute);
    await codesOf(receiver, 10, kindOf(499));
    expect(lines.slice(101)).toEqual([expect.stringContaining("kind 499")]);
  });

  test("are one for all errors of a store, which may have a text for each request", async () => {
    let requests = 0;
    const { receiver, lines } = timed({}, () => ({
      claim: () => Promise.reject(new Error(`request ${(requests += 1)} failed`)),
    }));
    await codesOf(receiver, 20);
    expect(lines).toHaveLength(1);
  });

  test("are separate for a store's call that reached its deadline, and for the cause found later", async () => {
    let isKnown = false;
    const { receiver, clock, lines } = timed({}, () => ({
      claim: () =>
        isKnown ? Promise.reject(new Error("every connection hangs")) : new Promise(() => {}),
    }));
    const first = codesOf(receiver, 1);
    await clock.advance(1_500);
    await first;
    isKnown = true;
    await codesOf(receiver, 20);
    expect(lines).toEqual([
      expect.stringContaining("store.claim took longer than 1500 ms"),
      expect.stringContaining("every connection hangs"),
    ]);
  });

  test("are separate for resumed deliveries with separate causes", async () => {
    const { receiver, lines } = timed({ eventType });
    for (const kind of [1, 2, 3]) await receiver.resume(await signed(kindOf(kind)));
    expect(lines).toHaveLength(3);
  });

  test("are also limited for internal errors", async () => {
    const { receiver, lines } = timed({ observe: throwing(new Error("metrics are down")) });
    await codesOf(receiver, 100);
    expect(lines).toEqual([expect.stringContaining("metrics are down")]);
  });
});

describe("by default console.error prints", () => {
  let printed: MockInstance<typeof console.error>;
  beforeEach(() => {
    printed = vi.spyOn(console, "error").mockImplementation(() => {});
  });
  afterEach(() => {
    printed.mockRestore();
  });

  const processing = () => createReceiver({ secret, on: { "*": () => {} } });

  /** The text that is printed, once, if a handler throws this. */
  async function textOf(thrown: unknown, body = eventBody()): Promise<string> {
    const receiver = createReceiver({ secret, on: { "*": throwing(thrown) } });
    expect((await send(receiver, body)).code).toBe("handler_failed");
    expect(printed).toHaveBeenCalledOnce();
    return String(printed.mock.calls[0]?.[0]);
  }

  test("one line for an outcome that only the operator can fix", async () => {
    await send(processing(), "{}");
    expect(printed.mock.calls).toEqual([
      [expect.stringMatching(/^svc-webhooks default: event_untyped: .*eventType/)],
    ]);
  });

  test("one line for a hook that threw", async () => {
    const observe = throwing(new Error(`metrics${inject}`));
    await send(createReceiver({ secret, on: { "*": () => {} }, observe }));
    expect(printed.mock.calls).toEqual([
      [expect.stringMatching(/^svc-webhooks default: internal_error: metrics[ -~]*$/)],
    ]);
  });

  test("a handler's error, with the delivery id and the type in one safe line", async () => {
    const text = await textOf(new Error("no"), eventBody(`email${inject}`));
    const [first = "", ...frames] = text.split("\n");
    expect(first).toMatch(oneSafeLine);
    expect(first).toMatch(/handler_failed.*"dlv_1".*"email.*no$/);
    expect(frames[0]).toMatch(/^ +at .*report\.test\.ts/);
  });

  test("a handler's error without control characters or line breaks of the sender", async () => {
    const cause = new Error("\u001b[31mred");
    const message = `no such address:${inject}\n    at fake (fake.js:1:1)`;
    const text = await textOf(new TypeError(message, { cause }));
    expect(text).toMatch(/^[ -~\n]+$/);
    expect(text).not.toMatch(/^ +at fake/m);
    expect(text).toContain("no such address:");
    expect(text).toContain("\n  caused by: Error: \\u{1b}[31mred");
  });

  test("no line that begins like one of ours, whatever a stack holds", async () => {
    const stack = "no\nsvc-webhooks billing: forged";
    const text = await textOf(Object.assign(new Error("no"), { stack }));
    expect(text.split("\n").slice(1)).toEqual([expect.stringMatching(/^ {2}/)]);
  });

  const cyclic = new Error("no");
  cyclic.cause = cyclic;
  const unreadable = Object.defineProperty({}, "message", { get: throwing(new Error("no")) });

  test.each<[string, unknown]>([
    ["nothing", undefined],
    ["null", null],
    ["text", "no\u001b[2J"],
    ["an error with an unreadable message", unreadable],
    ["an error without a stack", Object.assign(new Error("no"), { stack: undefined })],
    ["an error with a stack that is not text", Object.assign(new Error("no"), { stack: null })],
    ["an error that is its own cause", cyclic],
  ])("one text if a handler throws %s", async (_, thrown) => {
    expect(await textOf(thrown)).toMatch(/^[ -~\n]+$/);
  });

  test("nothing if there is no problem", async () => {
    expect(await codesOf(processing(), 2)).toEqual(["processed", "duplicate"]);
    expect(printed).not.toHaveBeenCalled();
  });
});
