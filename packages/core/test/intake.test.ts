import { secret, signed } from "@svc-webhooks/kit/deliveries";
import { gate } from "@svc-webhooks/kit/gate";
import { settled } from "@svc-webhooks/kit/settled";
import fc from "fast-check";
import { describe, expect, expectTypeOf, test } from "vitest";
import { assertReceiver } from "../src/adapter.js";
import { defineInbox, runJob, type InboxJob } from "../src/inbox.js";
import {
  createGuard,
  createIntake,
  createReceiver,
  memoryStore,
  parseDelivery,
  PermanentError,
  serializeDelivery,
  type DeliveryContext,
  type DeliveryReport,
  type Intake,
  type LogFields,
  type ReceiverOptions,
  type VerifiedEvent,
} from "../src/index.js";
import { observed, second, send, throwing, timed } from "./support.js";

/** Its JSON is `{}`. */
class Hidden {
  readonly #n = 1;

  get n(): number {
    return this.#n;
  }
}

const event = (parts: object = {}): VerifiedEvent<"a"> => ({
  source: "a",
  id: "evt_1",
  type: "order.paid",
  body: { n: 1 },
  ...parts,
});

describe.each(["intake", "guard"] as const)("an event without a result, of an %s,", (kind) => {
  const circular: Record<string, unknown> = {};
  circular["self"] = circular;

  // The order of the rows is that of the checks: each row has the faults of all rows below it too.
  test.each<[string, unknown, string]>([
    ["a circular body", { source: "b", id: "", body: circular, type: "" }, "body_unavailable"],
    ["a BigInt", event({ body: { n: 1n } }), "body_unavailable"],
    ["a lone surrogate in JSON text", event({ body: '"\ud800"' }), "body_unavailable"],
    ["a promise", event({ body: Promise.resolve({}) }), "body_unavailable"],
    // oxlint-disable-next-line unicorn/no-thenable
    ["a thenable", event({ body: { then: () => {}, n: 1 } }), "body_unavailable"],
    ["an instance without own members", event({ body: new Hidden() }), "body_unavailable"],
    ["a Map", event({ body: new Map([[1, 2]]) }), "body_unavailable"],
    ["an ArrayBuffer", event({ body: new ArrayBuffer(8) }), "body_unavailable"],
    ["a request", event({ body: new Request("http://localhost") }), "body_unavailable"],
    ["a large text", { source: "b", body: "x".repeat(1_048_577) }, "body_too_large"],
    ["large bytes", event({ body: new Uint8Array(1_048_577) }), "body_too_large"],
    ["another source", { source: "b", id: "", body: [], type: "" }, "misconfigured"],
    ["the source __proto__", event({ source: "__proto__" }), "misconfigured"],
    ["a source in a list", event({ source: ["a"] }), "misconfigured"],
    ["nothing", undefined, "misconfigured"],
    ["null", null, "misconfigured"],
    ["a text in place of an event", "evt_1", "misconfigured"],
    ["a list as the body", { source: "a", id: "", body: [1], type: "" }, "malformed_body"],
    ["a function as the body", event({ body: () => {} }), "malformed_body"],
    ["null as the body", event({ body: null }), "malformed_body"],
    ["other text", event({ body: "no" }), "malformed_body"],
    ["bytes that are not UTF-8", event({ body: Uint8Array.of(0xff) }), "malformed_body"],
    ["no id", { source: "a", body: {}, type: "" }, "delivery_id_missing"],
    ["a number as the id", event({ id: 5 }), "delivery_id_missing"],
    ["a list as the id", event({ id: ["evt_1"] }), "delivery_id_missing"],
    ["an id with a comma", event({ id: "a,b", type: "" }), "delivery_id_malformed"],
    ["an id with a space", event({ id: "a b" }), "delivery_id_malformed"],
    ["an id that is too long", event({ id: "a".repeat(257) }), "delivery_id_malformed"],
    ["an empty type", event({ type: "" }), "event_untyped"],
    ["null as the type", event({ type: null }), "event_untyped"],
    ["a number as the type", event({ type: 5, body: { type: "x" } }), "event_untyped"],
    ["a type with NUL", event({ type: "a\0b" }), "event_untyped"],
    ["a type with a lone surrogate", event({ type: "\ud800" }), "event_untyped"],
  ])("%s, ends with its code and runs nothing", async (_, given, code) => {
    const store = memoryStore();
    const options = { name: "test", store, sources: ["a"], log: () => {} } as const;
    const runs = throwing(new Error("must not run"));
    const accept =
      kind === "intake"
        ? createIntake({ ...options, on: { "*": runs } }).accept
        : (one: VerifiedEvent<"a">) => createGuard(options).run(one, runs);
    const outcome = await accept(given as VerifiedEvent<"a">);
    expect(outcome).toMatchObject({ code, warnings: [] });
    expect(await createGuard(options).peek([{ deliveryId: "evt_1" }])).toEqual([undefined]);
  });
});

/** An intake with a report of each event, and its lines. */
function accepting(options: Partial<Parameters<typeof createIntake<"a" | "b">>[0]> = {}) {
  const reports: DeliveryReport[] = [];
  const lines: string[] = [];
  const intake = createIntake({
    name: "test",
    sources: ["a", "b"],
    on: { "*": () => {} },
    observe: (report) => reports.push(report),
    log: (line) => lines.push(line),
    ...options,
  });
  return { intake, reports, lines };
}

describe("an intake", () => {
  test("runs an event once, and states where it came from", async () => {
    const { intake, reports } = accepting();
    expect(intake.sources).toEqual(["a", "b"]);
    const outcome = await intake.accept(event());
    expect(outcome).toMatchObject({
      code: "processed",
      status: 200,
      source: "a",
      deliveryId: "evt_1",
      type: "order.paid",
      run: 1,
      bodyBytes: 7,
    });
    expect(outcome).not.toHaveProperty("secretId");
    expect(await intake.accept(event({ source: "b" }))).toMatchObject({
      code: "duplicate",
      source: "b",
    });
    expect(reports.map(({ receiver, source }) => [receiver, source])).toEqual([
      ["test", "a"],
      ["test", "b"],
    ]);
  });

  test("states no source for a delivery that a receiver verified", async () => {
    const { receiver, reports } = observed();
    expect(await send(receiver)).not.toHaveProperty("source");
    expect(reports[0]).not.toHaveProperty("source");
  });

  test("takes the type from the call, then from `eventType`, then from the body", async () => {
    const body = { kind: "b", type: "c" };
    const own = accepting({ eventType: ({ kind }) => kind as string }).intake;
    expect(await own.accept(event({ body }))).toHaveProperty("type", "order.paid");
    expect(await own.accept(event({ id: "2", body, type: undefined }))).toHaveProperty("type", "b");
    const { intake } = accepting();
    expect(await intake.accept(event({ body, type: undefined }))).toHaveProperty("type", "c");
  });

  test("ignores a type without a handler", async () => {
    const { intake } = accepting({ on: { "order.*": () => {} } });
    expect(await intake.accept(event({ type: "user.created" }))).toHaveProperty("code", "ignored");
  });

  test("counts a failed run, and runs the event again", async () => {
    const { intake } = accepting({ on: { "*": throwing(new Error("no")) }, log: () => {} });
    expect(await intake.accept(event())).toMatchObject({ code: "handler_failed", run: 1 });
    expect(await intake.accept(event())).toMatchObject({ code: "handler_failed", run: 2 });
  });

  test("refuses a copy while the first is running, and awaits a slow handler", async () => {
    const { opened, open } = gate();
    const { intake } = accepting({ on: { "*": () => opened } });
    const first = intake.accept(event());
    expect(await intake.accept(event())).toMatchObject({ code: "in_flight", status: 503 });
    open();
    expect(await first).toHaveProperty("code", "processed");
  });

  test("has no time limit by default, renews its lease, and has one if it is set", async () => {
    const { clock, store } = timed();
    const signals: AbortSignal[] = [];
    const { opened, open } = gate();
    const slow = {
      "*": (_: unknown, { signal }: DeliveryContext) => {
        signals.push(signal);
        return opened;
      },
    };
    const { intake } = accepting({ clock, store, on: slow, leaseMs: 10 * second });
    const { intake: limited, reports } = accepting({
      clock,
      store,
      on: slow,
      name: "limited",
      handlerTimeoutMs: 2 * second,
    });
    const pending = intake.accept(event());
    const timedOut = limited.accept(event());
    await clock.advance(25 * second);
    expect(await timedOut).toHaveProperty("code", "handler_timeout");
    expect(signals.map(({ aborted }) => aborted)).toEqual([false, true]);
    open();
    expect(await pending).toMatchObject({ code: "processed", warnings: [] });
    await settled();
    expect(reports.map(({ phase, code }) => `${phase} ${code}`)).toEqual([
      "answered handler_timeout",
      "settled processed",
    ]);
  });

  test("drains, and refuses events meanwhile and above `maxConcurrent`", async () => {
    const { opened, open } = gate();
    const { intake } = accepting({ maxConcurrent: 1, on: { "*": () => opened } });
    const first = intake.accept(event());
    const circular = event({ id: "2", body: { n: 1n } });
    expect(await intake.accept(circular)).toHaveProperty("code", "overloaded");
    open();
    await first;
    const { intake: draining } = accepting({ on: { "*": () => gate().opened } });
    void draining.accept(event());
    const drained = draining.drain({ deadlineMs: 0 });
    expect(await draining.accept(event({ id: "2", source: "c" }))).toHaveProperty(
      "code",
      "draining",
    );
    expect(await drained).toBe(1);
  });

  test("passes the run to waitUntil", async () => {
    const { opened, open } = gate();
    const { intake } = accepting({ on: { "*": () => opened } });
    const work: Promise<unknown>[] = [];
    const pending = intake.accept(event(), { waitUntil: (run) => work.push(run) });
    await settled();
    expect(work).toHaveLength(1);
    open();
    await Promise.all([pending, ...work]);
  });

  test("parks, stores and resumes an event with its source, id and type", async () => {
    const rows: string[] = [];
    let isBroken = true;
    const seen: unknown[] = [];
    const options: Partial<Parameters<typeof createIntake<"a" | "b">>[0]> = {
      on: {
        "*": (given) => {
          seen.push(given);
          if (isBroken) throw new PermanentError("no such customer");
        },
      },
      onParked: (_, { delivery }) => rows.push(serializeDelivery(delivery)),
    };
    const { intake } = accepting(options);
    const body = { at: new Date(0), none: undefined, own: { toJSON: () => 5 } };
    expect(await intake.accept(event({ body }))).toHaveProperty("code", "parked");
    isBroken = false;
    expect(await intake.resume(parseDelivery(rows[0]))).toMatchObject({
      code: "processed",
      source: "a",
      deliveryId: "evt_1",
      type: "order.paid",
    });
    expect(seen).toEqual([{ at: "1970-01-01T00:00:00.000Z", own: 5, type: "order.paid" }, seen[0]]);
    const { intake: other, lines } = accepting({ ...options, name: "other", sources: ["b"] });
    expect(await other.resume(parseDelivery(rows[0]))).toHaveProperty("code", "misconfigured");
    expect(lines.at(-1)).toContain('"a" is not in sources');
    expect(seen).toHaveLength(2);
  });

  test("keeps bytes exactly", async () => {
    const bodies: Uint8Array[] = [];
    const { intake } = accepting({
      on: { "*": (_, { delivery }) => bodies.push(delivery.body) },
    });
    const body = new TextEncoder().encode('{"n": 9007199254740993}');
    await intake.accept(event({ body }));
    expect(bodies).toEqual([body]);
  });

  test("stores events in an inbox, whose worker runs them", async () => {
    const jobs: InboxJob[] = [];
    const ran: unknown[] = [];
    const inbox = defineInbox(async (job) => jobs.push(job));
    const { intake } = accepting({ on: { "*": inbox((given) => ran.push(given)) } });
    expect(await intake.accept(event())).toMatchObject({ code: "enqueued", source: "a" });
    const job = JSON.parse(JSON.stringify(jobs[0])) as unknown;
    expect(job).toMatchObject({ headers: { "intake-source": "a" }, deliveryId: "evt_1" });
    expect(await runJob(intake, job)).toEqual({ action: "done", code: "processed" });
    expect(await runJob(intake, job)).toEqual({ action: "done", code: "duplicate" });
    expect(ran).toEqual([{ n: 1, type: "order.paid" }]);
  });

  test.each(["delivery", "event", "body"] as const)(
    "shares records with a receiver of the same name, with dedupeBy %s",
    async (dedupeBy) => {
      const options = {
        name: "billing",
        store: memoryStore(),
        dedupeBy,
        eventId: ({ id }) => id as string,
        on: { "*": () => {} },
        log: () => {},
      } satisfies Partial<ReceiverOptions>;
      const receiver = createReceiver({ ...options, secret });
      const intake = createIntake({ ...options, sources: ["a"] });
      for (const [first, then] of ["ab", "ba"]) {
        const id = `evt_${first}`;
        const body = JSON.stringify({ id, type: "order.paid" });
        const ways = {
          a: async () => receiver.receive(await signed(body, { "x-svc-delivery-id": id })),
          b: () => intake.accept({ source: "a", id, body }),
        };
        expect((await ways[first as "a"]()).code).toBe("processed");
        expect((await ways[then as "a"]()).code).toBe("duplicate");
        expect(
          await intake.peek([{ deliveryId: id, body: new TextEncoder().encode(body) }]),
        ).toEqual(["done"]);
      }
    },
  );

  test("never throws and never rejects, whatever it receives", async () => {
    const { intake, reports } = accepting();
    const guard = createGuard({ sources: ["a"], log: () => {} });
    const trap = new Proxy(
      {},
      { get: throwing(new Error("trap")), ownKeys: throwing(new Error("trap")) },
    );
    await fc.assert(
      fc.asyncProperty(fc.anything({ withBigInt: true, withMap: true }), async (value) => {
        for (const given of [value, { source: "a", id: "1", type: "x", body: value }, trap]) {
          const codes = [
            (await intake.accept(given as never)).code,
            (await guard.run(given as never, () => {})).code,
          ];
          expect(codes.every((code) => typeof code === "string")).toBe(true);
        }
      }),
      { numRuns: 500 },
    );
    expect(reports.every(({ code }) => code !== "processed")).toBe(false);
  });

  test("handles the rejection of a promise that was not awaited", async () => {
    const { intake } = accepting();
    const rejecting = () => Promise.reject(new Error("no"));
    // Vitest reports unhandled rejections.
    const body = rejecting();
    expect(await intake.accept(event({ body }))).toHaveProperty("code", "body_unavailable");
    expect(await intake.accept(rejecting() as never)).toHaveProperty("code", "misconfigured");
    await expect(intake.acceptAll(rejecting())).rejects.toThrow("no");
  });

  test("warns once, when it is built, that it verifies nothing", async () => {
    const { intake, lines } = accepting();
    await intake.accept(event());
    expect(lines).toEqual([
      "svc-webhooks test: notice: Events from a, b are accepted without verification. Pass only events that your own code has verified, or whose channel only their sender can write to.",
    ]);
  });

  test("names the source in its lines, and explains the call instead of a request", async () => {
    const lines: object[] = [];
    const note = (text: string, fields: LogFields) => lines.push({ ...fields, text });
    const logger = { info: note, warn: note, error: note };
    const { intake } = accepting({ log: undefined, logger, on: { "*": throwing("no") } });
    await intake.accept(event());
    await intake.accept(event({ id: "a,b" }));
    expect(lines).toMatchObject([
      { code: "notice" },
      { code: "handler_failed", deliveryId: "evt_1", source: "a" },
      { code: "delivery_id_malformed", text: expect.stringContaining("member `id` of the call") },
    ]);
  });

  test("has nothing that could be mounted", () => {
    const { intake } = accepting();
    const guard = createGuard({ sources: ["a"], log: () => {} });
    for (const object of [intake, guard]) {
      expect(object).not.toHaveProperty("receive");
      expect(object).not.toHaveProperty("fetch");
      expect(() => assertReceiver(object)).toThrow(
        "An intake or a guard verifies nothing, so it cannot be mounted. Verify the request in your own route, and then call `accept` or `run`.",
      );
    }
    expect(guard).not.toHaveProperty("resume");
  });
});

describe("options", () => {
  const on = { "*": () => {} };
  const bad = (sources: unknown) => ({ sources, on });

  test.each<[string, unknown]>([
    ["none", bad(undefined)],
    ["an empty list", bad([])],
    ["a text", bad("stripe-sdk")],
    ["capitals", bad(["Stripe"])],
    ["an empty name", bad([""])],
    ["a name that is not text", bad([{ toString: () => "a" }])],
    ["a name that is too long", bad(["a".repeat(65)])],
    ["21 names", bad(Array.from({ length: 21 }, (_, index) => `s${index}`))],
  ])("sources: %s", (_, options) => {
    const problem = { code: "invalid_option", option: "sources" };
    expect(() => createIntake(options as never)).toThrow(expect.objectContaining(problem));
    const { sources } = options as { readonly sources: never };
    expect(() => createGuard({ sources })).toThrow(expect.objectContaining(problem));
  });

  test.each(["secret", "scheme"])("an intake and a guard have no %s", (option) => {
    const problem = expect.objectContaining({ code: "unknown_option", option }) as Error;
    const options = { sources: ["a"], [option]: "x" };
    expect(() => createIntake({ ...options, on })).toThrow(problem);
    expect(() => createGuard(options as never)).toThrow(problem);
    expect(() => createGuard(options as never)).toThrow("is an option of createReceiver()");
  });

  test("a guard has no `on`, a receiver no `sources`, and neither accepts nothing", () => {
    const problem = expect.objectContaining({ code: "unknown_option", option: "on" }) as Error;
    expect(() => createGuard({ sources: ["a"], on } as never)).toThrow(problem);
    expect(() => createGuard({ sources: ["a"], on } as never)).toThrow("pass to `run`");
    expect(() => createReceiver({ secret, sources: ["a"], on } as never)).toThrow(
      "`sources` is an option of createIntake() and createGuard().",
    );
    for (const build of [createIntake, createGuard] as ((options: never) => unknown)[]) {
      expect(() => build(undefined as never)).toThrow("`options` is undefined");
    }
  });

  test("all options of a receiver are checked", () => {
    const shared = { ...memoryStore(), shared: true };
    const sources = ["a"] as const;
    expect(() => createGuard({ sources, store: shared })).toThrow("`name` is missing");
    expect(() => createIntake({ sources, on, maxRuns: 3 })).toThrow("`onParked` is missing");
    expect(() => createIntake({ sources, on, handlerTimeoutMs: 0 })).toThrow("handlerTimeoutMs");
    expect(() => createIntake({ sources, on: {} })).toThrow("`on` has no handlers");
  });

  test("options may be inherited", async () => {
    const store = memoryStore();
    const base = { name: "billing", store, on, log: () => {} };
    const build = () => createIntake(Object.assign(Object.create(base), { sources: ["a"] }));
    expect(await build().accept(event())).toHaveProperty("code", "processed");
    expect(await build().accept(event())).toHaveProperty("code", "duplicate");
  });

  test("types refuse another source, and what is missing or misspelled", () => {
    const intake = createIntake({ sources: ["stripe-sdk", "eventbridge"], on, log: () => {} });
    expectTypeOf(intake).toEqualTypeOf<Intake<"stripe-sdk" | "eventbridge">>();
    expectTypeOf(intake).not.toHaveProperty("receive");
    expectTypeOf(intake).not.toHaveProperty("fetch");
    // @ts-expect-error: not one of `sources`
    void intake.accept({ source: "sqs", id: "1", body: {} });
    // @ts-expect-error: no id
    void intake.accept({ source: "eventbridge", body: {} });
    // @ts-expect-error: `dedupeBy: "event"` needs an `eventId`
    expect(() => createIntake({ sources: ["a"], on, dedupeBy: "event" })).toThrow("eventId");
    // @ts-expect-error: no sources
    expect(() => createIntake({ on })).toThrow("sources");
    // @ts-expect-error: an intake has no secret
    expect(() => createIntake({ sources: ["a"], on, secret: "x" })).toThrow("secret");
  });
});
