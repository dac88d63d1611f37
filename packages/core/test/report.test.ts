import { eventBody, secret, signed } from "@svc-webhooks/kit/deliveries";
import { gate } from "@svc-webhooks/kit/gate";
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
import { observed, pause, send, timed } from "./support.js";

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

  test("is flat: it contains no object except the list of warnings", async () => {
    const { receiver, reports } = observed();
    await send(receiver, eventBody("email.sent", { nested: { deep: [1] } }));
    const nested = reports.flatMap((report) =>
      Object.entries(report).filter(([, value]) => typeof value === "object"),
    );
    expect(nested).toEqual([["warnings", []]]);
  });

  test("of a refused delivery contains only the facts of the stages it reached", async () => {
    const { receiver, reports } = timed();
    await send(receiver, eventBody(), { "content-encoding": "gzip" });
    await send(receiver, eventBody(), {}, "whsec_other");
    await send(receiver, "{}");
    const factsOf = (report: DeliveryReport) =>
      Object.keys(report)
        .filter((fact) => report[fact as keyof DeliveryReport] !== undefined)
        .toSorted();
    const always = ["code", "phase", "receivedAt", "receiver", "status", "totalMs", "warnings"];
    expect(reports.map(factsOf)).toEqual([
      [...always, "admitMs"].toSorted(),
      [...always, "admitMs", "bodyBytes", "verifyMs"].toSorted(),
      [
        ...always,
        "admitMs",
        "verifyMs",
        "decodeMs",
        "bodyBytes",
        "deliveryId",
        "secretId",
      ].toSorted(),
    ]);
  });

  test("contains the outcome and the fields that only operators need", async () => {
    const { receiver, reports } = timed();
    const outcomes = [await send(receiver), await send(receiver), await send(receiver, "[]")];
    for (const [index, outcome] of outcomes.entries())
      expect(reports[index]).toMatchObject(outcome);
  });

  test("never contains the body, a key or a handler's error", async () => {
    const key = "whsec_0123456789";
    const { receiver, reports } = observed({
      secret: key,
      on: {
        "*": () => {
          throw new Error("threw-this");
        },
      },
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

  test("of a run that outlived its response is followed by a second one with the later facts", async () => {
    const { opened, open } = gate();
    const { receiver, clock, reports } = timed({ on: { "*": () => opened } }, () => ({
      complete() {
        throw new Error("read only");
      },
    }));
    void send(receiver);
    await clock.advance(12_000);
    open();
    await settled();
    expect(reports).toMatchObject([
      { phase: "answered", code: "handler_timeout", warnings: [], runMs: 10_000 },
      { phase: "settled", code: "processed", warnings: ["complete_failed"], runMs: 12_000 },
    ]);
  });
});

describe("hooks that fail do not change the outcome", () => {
  const fails: [string, () => unknown][] = [
    [
      "throws an error",
      () => {
        throw new Error("hook down");
      },
    ],
    [
      "throws undefined",
      () => {
        throw undefined;
      },
    ],
    ["rejects", () => Promise.reject(new Error("hook down"))],
    ["rejects with an object that cannot be printed", () => Promise.reject(Object.create(null))],
  ];
  const hooks = ["observe", "onHandlerError", "onInternalError", "log"] as const;

  const failingRun = async (options: Partial<ReceiverOptions>) => {
    const { receiver } = timed(
      {
        on: {
          "*": () => {
            throw new Error("no");
          },
        },
        ...options,
      },
      () => ({
        release() {
          throw new Error("read only");
        },
      }),
    );
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
  const failing = (message: string) => () => {
    throw new Error(message);
  };
  const body = (read: () => Promise<Uint8Array>) => async (): Promise<Delivery> => ({
    ...(await signed()),
    body: read,
  });

  const cases: [string, Partial<ReceiverOptions>, () => Promise<Delivery>, string][] = [
    ["body_unavailable", {}, body(() => Promise.reject(new Error(`cut${inject}`))), "cut"],
    [
      "body_unavailable",
      {},
      body(() => Promise.reject(new BodyError("body_unavailable", "mount it before json()"))),
      "mount it before json()",
    ],
    [
      "body_unavailable",
      {},
      body(async () => eventBody() as unknown as Uint8Array),
      "the body is not a Uint8Array",
    ],
    ["body_unavailable", {}, () => signed(eventBody(), { "content-length": "999" }), "999"],
    ["misconfigured", { secret: failing(`vault${inject}`) }, () => signed(), "vault"],
    [
      "misconfigured",
      { dedupeBy: "event", eventId: () => undefined },
      () => signed(eventBody(`type${inject}`)),
      "eventId",
    ],
    [
      "store_unavailable",
      { store: { ...timed().store, claim: failing(`down${inject}`) } },
      () => signed(eventBody(`type${inject}`)),
      "down",
    ],
    ["event_untyped", {}, () => signed(JSON.stringify({ kind: inject })), "eventType"],
    ["internal_error", { eventType: failing(`bug${inject}`) }, () => signed(), "bug"],
    ["internal_error", { eventId: failing("bug") }, () => signed(eventBody(inject)), "bug"],
  ];

  test.each(cases)("is printed once for %s, without unescaped text", async (...args) => {
    const [code, options, delivery, text] = args;
    const { receiver, lines } = observed({ name: "billing", ...options });
    expect((await receiver.receive(await delivery())).code).toBe(code);
    expect(lines).toEqual([expect.stringMatching(oneSafeLine)]);
    expect(lines[0]).toContain(`svc-webhooks billing: ${code}: `);
    expect(lines[0]).toContain(text);
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
    const throwIt = () => {
      throw thrown;
    };
    const lines = await Promise.all(
      [
        { secret: throwIt },
        { eventType: throwIt },
        { store: { ...timed().store, claim: throwIt } },
      ].map(async (options) => {
        const world = observed(options);
        await send(world.receiver);
        return world.lines;
      }),
    );
    expect(lines).toEqual([
      [expect.stringContaining("misconfigured")],
      [expect.stringContaining("internal_error")],
      [expect.stringContaining("store_unavailable")],
    ]);
  });

  test("is printed if a reader fails without a reason", async () => {
    const { receiver, lines } = observed();
    const delivery = await signed();
    await receiver.receive({ ...delivery, body: () => Promise.reject(undefined) });
    expect(lines).toEqual([expect.stringContaining("body_unavailable")]);
  });

  test("contains the delivery id and the type once they are known", async () => {
    const { receiver, lines } = observed({
      store: { ...timed().store, claim: failing("down") },
    });
    await send(receiver, eventBody(`a"b${inject}`));
    expect(lines[0]).toContain('"deliveryId":"dlv_1"');
    expect(lines[0]).toContain(String.raw`a\"b\r\n\u001b[31mFORGED`);
  });

  test("is limited in length, even if the sender's text or an error is long", async () => {
    const { receiver, lines } = observed({
      store: { ...timed().store, claim: failing("x".repeat(10_000)) },
    });
    await send(receiver, eventBody("y".repeat(10_000)));
    expect(lines[0]?.length).toBeLessThan(1_200);
  });

  test.each([
    ["processed", () => signed()],
    ["signature_mismatch", () => signed(eventBody(), {}, "whsec_other")],
    ["signature_missing", () => signed(eventBody(), { "x-svc-signature": "" })],
    ["delivery_id_missing", () => signed(eventBody(), { "x-svc-delivery-id": "" })],
    ["malformed_body", () => signed("[]")],
    ["body_too_large", () => signed(eventBody(), { "content-length": "1048577" })],
    ["encoding_unsupported", () => signed(eventBody(), { "content-encoding": "gzip" })],
  ])("is not printed for %s, so that requests cannot fill the log", async (code, delivery) => {
    const { receiver, lines } = observed();
    expect((await receiver.receive(await delivery())).code).toBe(code);
    expect(lines).toEqual([]);
  });
});

describe("lines caused by requests", () => {
  const minute = 60_000;

  test("are printed at most once a minute per cause, and the next one counts those omitted", async () => {
    const { receiver, clock, lines } = timed();
    const untyped = () => send(receiver, "{}");
    for (let sent = 0; sent < 1_000; sent += 1) await untyped();
    expect(lines).toHaveLength(1);
    await clock.advance(minute - 1);
    await untyped();
    expect(lines).toHaveLength(1);
    await clock.advance(1);
    await untyped();
    expect(lines).toHaveLength(2);
    expect(lines[1]).toMatch(/event_untyped: .*\(and 1000 more\)$/);
    await clock.advance(minute);
    await untyped();
    expect(lines[2]).not.toContain("more");
  });

  test("are not multiplied by the text of unverified requests", async () => {
    const { receiver, lines } = timed();
    const { headers } = await signed();
    for (let length = 1; length < 200; length += 1) {
      const announced = { ...headers, "content-length": String(length + 1) };
      const body = () => Promise.resolve(new Uint8Array(length));
      const forged = await receiver.receive({ method: "POST", headers: announced, body });
      expect(forged.code).toBe("body_unavailable");
    }
    expect(lines).toHaveLength(1);
  });

  test("are limited separately per cause, for a bounded number of causes", async () => {
    const { receiver, lines } = timed({
      eventType: ({ kind }) => {
        throw new Error(`kind ${String(kind)}`);
      },
    });
    for (let kind = 0; kind < 500; kind += 1) await send(receiver, JSON.stringify({ kind }));
    expect(lines).toHaveLength(500);
    const before = lines.length;
    for (let sent = 0; sent < 10; sent += 1) await send(receiver, JSON.stringify({ kind: 499 }));
    expect(lines).toHaveLength(before);
  });

  test("are one for all errors of a store, which may have a text for each request", async () => {
    let requests = 0;
    const { receiver, lines } = timed({}, () => ({
      claim: () => Promise.reject(new Error(`request ${(requests += 1)} failed`)),
    }));
    for (let sent = 0; sent < 20; sent += 1) await send(receiver);
    expect(lines).toHaveLength(1);
  });

  test("are separate for resumed deliveries with separate causes", async () => {
    const { receiver, lines } = timed({
      eventType: ({ kind }) => {
        throw new Error(`kind ${String(kind)}`);
      },
    });
    for (const kind of [1, 2, 3]) await receiver.resume(await signed(JSON.stringify({ kind })));
    expect(lines).toHaveLength(3);
  });

  test("are also limited for internal errors", async () => {
    const { receiver, lines } = timed({
      observe: () => {
        throw new Error("metrics are down");
      },
    });
    for (let sent = 0; sent < 100; sent += 1) await send(receiver);
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

  test("one line for an outcome that only the operator can fix", async () => {
    const receiver = createReceiver({ secret, on: { "*": () => {} } });
    await send(receiver, "{}");
    expect(printed.mock.calls).toEqual([
      [expect.stringMatching(/^svc-webhooks default: event_untyped: .*eventType/)],
    ]);
  });

  test("one line for a hook that threw", async () => {
    const receiver = createReceiver({
      secret,
      on: { "*": () => {} },
      observe() {
        throw new Error(`metrics${inject}`);
      },
    });
    await send(receiver);
    expect(printed.mock.calls).toEqual([
      [expect.stringMatching(/^svc-webhooks internal error: metrics[ -~]*$/)],
    ]);
  });

  test("a handler's error, with the delivery id and the type in one safe line", async () => {
    const thrown = new Error("no");
    const receiver = createReceiver({ secret, on: { "*": () => Promise.reject(thrown) } });
    await send(receiver, eventBody(`email${inject}`));
    const [first = "", ...frames] = String(printed.mock.calls[0]?.[0]).split("\n");
    expect(printed).toHaveBeenCalledOnce();
    expect(first).toMatch(oneSafeLine);
    expect(first).toMatch(/handler_failed.*"dlv_1".*"email.*no$/);
    expect(frames[0]).toMatch(/^ +at .*report\.test\.ts/);
  });

  test("a handler's error without control characters or line breaks of the sender", async () => {
    const cause = new Error("\u001b[31mred");
    const thrown = new TypeError(`no such address:${inject}\n    at fake (fake.js:1:1)`, { cause });
    const receiver = createReceiver({ secret, on: { "*": () => Promise.reject(thrown) } });
    await send(receiver);
    const text = String(printed.mock.calls[0]?.[0]);
    expect(text).toMatch(/^[ -~\n]+$/);
    expect(text).not.toMatch(/^ +at fake/m);
    expect(text).toContain("no such address:");
    expect(text).toContain("\n  caused by: Error: \\u{1b}[31mred");
  });

  test("no line that begins like one of ours, whatever a stack holds", async () => {
    const thrown = Object.assign(new Error("no"), { stack: "no\nsvc-webhooks billing: forged" });
    const receiver = createReceiver({ secret, on: { "*": () => Promise.reject(thrown) } });
    await send(receiver);
    expect(String(printed.mock.calls[0]?.[0]).split("\n").slice(1)).toEqual([
      expect.stringMatching(/^ {2}/),
    ]);
  });

  test.each<[string, unknown]>([
    ["nothing", undefined],
    ["null", null],
    ["text", "no\u001b[2J"],
    [
      "an error with an unreadable message",
      {
        get message() {
          throw new Error("no");
        },
      },
    ],
    ["an error without a stack", Object.assign(new Error("no"), { stack: undefined })],
    ["an error with a stack that is not text", Object.assign(new Error("no"), { stack: null })],
    [
      "an error that is its own cause",
      (() => {
        const error = new Error("no");
        error.cause = error;
        return error;
      })(),
    ],
  ])("one text if a handler throws %s", async (_, thrown) => {
    const receiver = createReceiver({ secret, on: { "*": () => Promise.reject(thrown as Error) } });
    expect((await send(receiver)).code).toBe("handler_failed");
    expect(printed).toHaveBeenCalledOnce();
    expect(String(printed.mock.calls[0]?.[0])).toMatch(/^[ -~\n]+$/);
  });

  test("nothing if there is no problem", async () => {
    const receiver = createReceiver({ secret, on: { "*": () => {} } });
    await send(receiver);
    await send(receiver);
    expect(printed).not.toHaveBeenCalled();
  });
});
