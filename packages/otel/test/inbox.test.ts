import { type Tracer } from "@opentelemetry/api";
import { AggregationTemporality } from "@opentelemetry/sdk-metrics";
import { createIntake, memoryStore } from "@svc-webhooks/core";
import {
  defineInbox,
  runJob,
  traceOf,
  type InboxJob,
  type InboxStats,
} from "@svc-webhooks/core/inbox";
import { settled } from "@svc-webhooks/kit/settled";
import { until } from "@svc-webhooks/kit/until";
import { fakeClock } from "@svc-webhooks/testing";
import { memoryInbox } from "@svc-webhooks/testing/inbox";
import { describe, expect, test } from "vitest";
import { telemetry } from "../src/index.js";
import { kinds, sdk, subject, useContexts } from "./support.js";

useContexts();

const forged = "00-aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa-bbbbbbbbbbbbbbbb-01";

describe("the span that stores a delivery", () => {
  test("is linked to by each of its runs, and is not their parent", async () => {
    const one = sdk();
    const clock = fakeClock();
    const inbox = memoryInbox({ clock });
    let runs = 0;
    const { receive, receiver } = subject(
      {
        "*": inbox(async () => {
          one.tracer.startSpan("query").end();
          if ((runs += 1) === 1) throw new Error("first");
        }),
      },
      { ...one.options, inbox },
      clock,
    );
    const { deliveryId } = await receive("email.sent", { traceparent: forged });
    await inbox.run(receiver);
    await clock.advance(1_000);
    await inbox.run(receiver);

    const enqueue = one.spanOf("enqueue mail");
    expect(enqueue.kind).toBe(kinds.producer);
    expect(enqueue.parentSpanContext).toBeUndefined();
    expect(enqueue.attributes).toMatchObject({
      "messaging.operation.type": "send",
      "messaging.operation.name": "enqueue",
      "messaging.message.id": deliveryId,
    });
    const { traceId, spanId } = enqueue.spanContext();
    const processes = one.spans().filter(({ name }) => name === "process mail");
    expect(processes).toHaveLength(2);
    for (const { links, parentSpanContext } of processes) {
      expect(links).toMatchObject([{ context: { traceId, spanId } }]);
      expect(parentSpanContext).toBeUndefined();
    }
    const queries = one.spans().filter(({ name }) => name === "query");
    expect(queries.map((query) => query.parentSpanContext?.spanId)).toEqual(
      processes.map((span) => span.spanContext().spanId),
    );
    expect(JSON.stringify(one.spans().map(({ links }) => links))).not.toContain("aaaaaaaa");
  });

  test("names the source of an event that an intake has accepted, as its run does", async () => {
    const one = sdk();
    const clock = fakeClock();
    const inbox = memoryInbox({ clock });
    const intake = createIntake({
      name: "mail",
      clock,
      store: memoryStore({ clock }),
      sources: ["mail-sdk"],
      on: { "*": inbox(() => {}) },
      logger: { info() {}, warn() {}, error() {} },
      ...telemetry({ name: "mail", clock, inbox, ...one.options }),
    });
    await intake.accept({ source: "mail-sdk", id: "evt_1", type: "email.sent", body: {} });
    await inbox.run(intake);
    for (const name of ["enqueue mail", "process mail"]) {
      expect(one.spanOf(name).attributes).toMatchObject({ "svc_webhooks.source": "mail-sdk" });
    }
  });

  test("ends with the error of a queue that does not store", async () => {
    const one = sdk();
    const inbox = defineInbox(() => Promise.reject(new TypeError("down")));
    const { receive } = subject({ "*": inbox(() => {}) }, { ...one.options, inbox });
    expect(await receive()).toMatchObject({ code: "queue_unavailable" });
    expect(one.spanOf("enqueue mail").attributes).toMatchObject({ "error.type": "TypeError" });
  });

  /** Stores one delivery, runs a changed copy of its job, and returns the spans of the run. */
  async function runChanged(change: object, tracer?: Tracer) {
    const one = sdk();
    let job: InboxJob | undefined;
    const inbox = defineInbox(async (stored) => void (job = stored));
    let seen: string | undefined;
    const { receive, receiver } = subject(
      { "*": inbox((_event, context) => void (seen = traceOf(context))) },
      { ...one.options, ...(tracer && { tracer }), inbox },
    );
    const { code } = await receive("email.sent", { traceparent: forged });
    const verdict = await runJob(receiver, JSON.parse(JSON.stringify({ ...job, ...change })));
    return { code, verdict, job, seen, one };
  }

  test.each([
    forged.slice(1),
    `x${forged}`,
    `${forged}-more`,
    forged.toUpperCase(),
    "",
    7,
    {},
    null,
  ])("is not linked if the job's trace was changed to %j", async (trace) => {
    const { verdict, one } = await runChanged({ trace });
    expect(verdict).toEqual({ action: "done", code: "processed" });
    expect(one.spanOf("process mail").links).toEqual([]);
  });

  test("is in the job as a text that the handler can read, also if the body is base64", async () => {
    const { job, seen, one } = await runChanged({});
    const { traceId, spanId } = one.spanOf("enqueue mail").spanContext();
    expect(job?.trace).toBe(`00-${traceId}-${spanId}-01`);
    expect(seen).toBe(job?.trace);
    const body = Buffer.from('{"type":"email.sent"}').toString("base64");
    expect((await runChanged({ body, base64: true })).seen).toMatch(/^00-/);
  });

  test.each<[string, () => never]>([
    ["throws", () => raise(new Error("tracer"))],
    ["returns no span", () => ({}) as never],
  ])("changes no outcome if the tracer %s", async (_what, startSpan) => {
    const { code, verdict, job } = await runChanged({}, { startSpan } as unknown as Tracer);
    expect(code).toBe("enqueued");
    expect(verdict).toEqual({ action: "done", code: "processed" });
    expect(job).not.toHaveProperty("trace");
  });
});

const raise = (error: unknown): never => {
  throw error;
};

describe("the gauges of an inbox", () => {
  /** Returns the values of the gauges. */
  const valuesOf = async (one: ReturnType<typeof sdk>) =>
    Object.fromEntries(
      Object.entries(await one.series())
        .filter(([name, points]) => name.startsWith("svc_webhooks.inbox.") && points.length > 0)
        .map(([name, points]) => [
          name.slice("svc_webhooks.inbox.".length),
          points.map(({ value, attributes }) => {
            expect(attributes).toEqual({ "svc_webhooks.receiver": "mail" });
            return value;
          }),
        ]),
    );

  test("equal the numbers of the queue, and are at most 10 s old", async () => {
    const one = sdk();
    const clock = fakeClock();
    const inbox = memoryInbox({
      clock,
      partitionBy: () => "key",
      afterDead: "hold",
      retry: { limit: 1 },
    });
    let reads = 0;
    const { admin } = inbox;
    const counted = { stats: () => ((reads += 1), admin.stats()) };
    const observed = Object.assign(inbox, { admin: counted });
    const { receive, receiver } = subject(
      { "*": inbox(() => raise(new Error("no"))) },
      { ...one.options, inbox: observed },
      clock,
    );
    expect(await valuesOf(one)).toEqual({ oldest_age: [0], ready: [0], dead: [0], held_keys: [0] });
    await receive();
    await receive();
    await clock.advance(9_999);
    expect(await valuesOf(one)).toMatchObject({ ready: [0] });
    expect(reads).toBe(1);
    await clock.advance(1);
    const { oldestMs = NaN } = await admin.stats();
    expect(oldestMs).toBe(10_000);
    expect(await valuesOf(one)).toEqual({
      oldest_age: [oldestMs / 1_000],
      ready: [2],
      dead: [0],
      held_keys: [0],
    });
    await inbox.run(receiver);
    await clock.advance(10_000);
    expect(await valuesOf(one)).toEqual({
      oldest_age: [20],
      ready: [1],
      dead: [1],
      held_keys: [1],
    });
    expect(reads).toBe(3);
  });

  test("are absent while the queue cannot be read, and wait for it at most 5 s", async () => {
    const one = sdk();
    let release: (stats: InboxStats) => void = () => {};
    const numbers = { ready: 3, delayed: 0, active: 0, dead: 0, oldestMs: 1_500 };
    const answers: (() => Promise<InboxStats>)[] = [
      () => Promise.reject(new Error("down")),
      () => new Promise((resolve) => (release = resolve)),
      async () => numbers,
    ];
    let reads = 0;
    const inbox = {
      admin: { stats: () => answers[reads++]?.() ?? raise(new Error("read again")) },
    };
    const { clock } = subject({ "*": () => {} }, { ...one.options, inbox });
    expect(await valuesOf(one)).toEqual({});
    expect(await valuesOf(one)).toEqual({});
    expect(reads).toBe(1);
    await clock.advance(10_000);
    const hanging = valuesOf(one);
    await until(() => reads === 2, "the second read");
    await clock.advance(5_000);
    expect(await hanging).toEqual({});
    await clock.advance(10_000);
    expect(await valuesOf(one)).toEqual({});
    expect(reads).toBe(2);
    release(numbers);
    await settled();
    await clock.advance(10_000);
    expect(await valuesOf(one)).toEqual({ oldest_age: [1.5], ready: [3], dead: [0] });
    expect(clock.timers).toBe(0);
  });

  const numbers: InboxStats = { ready: 3, delayed: 0, active: 0, dead: 0, oldestMs: 1_500 };

  /** Returns a queue whose reads settle when a test says so, with the \`settle\` of each read so far. */
  function slowQueue() {
    const one = sdk(AggregationTemporality.DELTA);
    const reads: ((stats: Partial<InboxStats>) => void)[] = [];
    const stats = () =>
      new Promise<InboxStats>((resolve) => {
        reads.push((some) => resolve({ ...numbers, ...some }));
      });
    const { clock } = subject({ "*": () => {} }, { ...one.options, inbox: { admin: { stats } } });
    /** Pulls the metrics while some time passes. */
    const pull = async (ms = 0) => {
      const values = valuesOf(one);
      await settled();
      await clock.advance(ms);
      return values;
    };
    return { clock, reads, pull };
  }

  test("have the numbers of a queue that always answers after the deadline", async () => {
    const { clock, reads, pull } = slowQueue();
    expect(await pull(5_000)).toEqual({});
    for (const ready of [4, 5, 6]) {
      await clock.advance(15_000);
      reads.at(-1)?.({ ready });
      await settled();
      await clock.advance(4_000);
      expect(await pull(5_000)).toMatchObject({ ready: [ready] });
      expect(reads).toHaveLength(ready - 3);
      await clock.advance(31_000);
      expect(await pull(5_000)).toMatchObject({ ready: [ready] });
      expect(reads).toHaveLength(ready - 2);
    }
    await clock.advance(15_000);
    expect(await pull()).toEqual({});
    expect(clock.timers).toBe(0);
  });

  test("are read again after 60 s without an answer, then after 120 s, and after 60 s once one came", async () => {
    const { clock, reads, pull } = slowQueue();
    /** Expects the next read after a time, and lets its deadline of 5 s pass. */
    const expectReadAfter = async (ms: number) => {
      const { length } = reads;
      await clock.advance(ms - 1);
      expect(await pull()).toEqual({});
      expect(reads).toHaveLength(length);
      await clock.advance(1);
      expect(await pull(5_000)).toEqual({});
      expect(reads).toHaveLength(length + 1);
    };
    await pull(5_000);
    await expectReadAfter(55_000);
    await expectReadAfter(115_000);
    reads[1]?.({ ready: 8 });
    await settled();
    expect(await pull()).toMatchObject({ ready: [8] });
    reads[0]?.({ ready: 7 });
    await settled();
    expect(await pull()).toMatchObject({ ready: [8] });
    reads[2]?.({ ready: 9 });
    await settled();
    expect(await pull()).toMatchObject({ ready: [9] });
    await clock.advance(60_000);
    expect(await pull(5_000)).toEqual({});
    await expectReadAfter(55_000);
  });
});
