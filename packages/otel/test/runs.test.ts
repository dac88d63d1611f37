import {
  context,
  ROOT_CONTEXT,
  SpanStatusCode,
  trace,
  type Meter,
  type Tracer,
} from "@opentelemetry/api";
import { createIntake, PermanentError, RetryError } from "@svc-webhooks/core";
import { gate } from "@svc-webhooks/kit/gate";
import { settled } from "@svc-webhooks/kit/settled";
import { describe, expect, test } from "vitest";
import { telemetry } from "../src/index.js";
import { kinds, sdk, subject, useContexts } from "./support.js";

useContexts();

describe("the span of a run", () => {
  test("is the parent of the handler's spans, synchronous or not", async () => {
    const one = sdk();
    const { receive } = subject(
      {
        "email.sent": () => one.tracer.startSpan("sync").end(),
        "email.delivered": async () => {
          await settled();
          one.tracer.startSpan("async").end();
        },
      },
      one.options,
    );
    await receive("email.sent");
    await receive("email.delivered");
    const [sync, first, async_, second] = one.spans();
    expect([first?.name, second?.name]).toEqual(["process mail", "process mail"]);
    expect(sync?.parentSpanContext?.spanId).toBe(first?.spanContext().spanId);
    expect(async_?.parentSpanContext?.spanId).toBe(second?.spanContext().spanId);
  });

  test("contains the query of a lazy thenable, which starts once", async () => {
    const one = sdk();
    let starts = 0;
    const query = {
      // oxlint-disable-next-line unicorn/no-thenable -- as queries of query builders are
      then(resolve: (value: unknown) => void) {
        starts += 1;
        one.tracer.startSpan("query").end();
        resolve(undefined);
      },
    };
    const { receive } = subject({ "*": () => query }, one.options);
    expect(await receive()).toMatchObject({ code: "processed" });
    expect(starts).toBe(1);
    expect(one.spanOf("query").parentSpanContext?.spanId).toBe(
      one.spanOf("process mail").spanContext().spanId,
    );
  });

  test("describes the delivery, without its body, its key or an address", async () => {
    const one = sdk();
    const { receive } = subject({ "*": () => {} }, one.options);
    const { deliveryId } = await receive("email.sent", { "x-svc-attempt": "3" });
    expect(one.ends()).toBe(1);
    const span = one.spanOf("process mail");
    expect(span.kind).toBe(kinds.consumer);
    expect(span.links).toEqual([]);
    expect(span.attributes).toEqual({
      "svc_webhooks.receiver": "mail",
      "messaging.system": "svc_webhooks",
      "messaging.destination.name": "mail",
      "messaging.operation.type": "process",
      "messaging.operation.name": "process",
      "messaging.message.id": deliveryId,
      "messaging.message.body.size": 21,
      "svc_webhooks.event.type": "email.sent",
      "svc_webhooks.run": 1,
      "svc_webhooks.delivery.attempt": 3,
    });
  });

  test("names the source of an event that an intake has accepted", async () => {
    const one = sdk();
    const intake = createIntake({
      name: "mail",
      sources: ["mail-sdk"],
      log: () => {},
      on: { "*": () => {} },
      ...telemetry({ name: "mail", ...one.options }),
    });
    await intake.accept({ source: "mail-sdk", id: "evt_1", type: "email.sent", body: {} });
    const { attributes } = one.spanOf("process mail");
    expect(attributes).toMatchObject({ "svc_webhooks.source": "mail-sdk" });
  });

  test.each([
    ["throws", () => raise(new TypeError("no")), "TypeError", "handler_failed"],
    [
      "rejects",
      async () => raise(new RetryError({ retryAfterMs: 1_000 })),
      "retry_error",
      "handler_failed",
    ],
    ["fails for good", () => raise(new PermanentError("no")), "permanent_error", "parked"],
    ["throws a text", () => raise("no"), "_OTHER", "handler_failed"],
  ])("ends once with an error if the handler %s", async (_how, handler, errorType, code) => {
    const one = sdk();
    const { receive } = subject({ "*": handler }, one.options);
    expect(await receive()).toMatchObject({ code });
    expect(one.ends()).toBe(1);
    const span = one.spanOf("process mail");
    expect(span.status.code).toBe(SpanStatusCode.ERROR);
    expect(span.attributes).toMatchObject({ "error.type": errorType });
    expect(span.events).toMatchObject([{ name: "exception" }]);
    const { "messaging.process.duration": durations } = await one.series();
    expect(durations).toMatchObject([{ attributes: { "error.type": errorType } }]);
  });

  test("ends once, with the handler, if the handler exceeds its time", async () => {
    const one = sdk();
    const started = gate();
    const work = gate();
    const { receive, clock } = subject(
      {
        "*": () => {
          started.open();
          return work.opened;
        },
      },
      one.options,
    );
    const outcome = receive();
    await started.opened;
    await clock.advance(10_000);
    expect(await outcome).toMatchObject({ code: "handler_timeout" });
    expect(one.spans()).toEqual([]);
    expect(await one.series()).toMatchObject({ "svc_webhooks.handlers.active": [{ value: 1 }] });
    work.open();
    await settled();
    expect(one.spanOf("process mail").status.code).toBe(SpanStatusCode.UNSET);
    expect(one.ends()).toBe(1);
    const series = await one.series();
    expect(series).toMatchObject({ "svc_webhooks.handlers.active": [{ value: 0 }] });
    expect(series["messaging.process.duration"]).toMatchObject([{ value: { sum: 10, count: 1 } }]);
  });

  test("has the active span as its parent, and none if the caller leaves it", async () => {
    const one = sdk();
    const { receive } = subject({ "*": () => {} }, one.options);
    const server = one.tracer.startSpan("POST");
    const active = trace.setSpan(ROOT_CONTEXT, server);
    await context.with(active, () => receive());
    await context.with(active, () => context.with(ROOT_CONTEXT, () => receive()));
    const parents = one.spans().map((span) => span.parentSpanContext?.spanId);
    expect(parents).toEqual([server.spanContext().spanId, undefined]);
  });

  test("is a child of the list's, if it runs an event of a list", async () => {
    const one = sdk();
    const items = createIntake({
      name: "items",
      sources: ["list"],
      log: () => {},
      on: { item: settled },
      ...telemetry({ name: "items", ...one.options }),
    });
    const event = { source: "list", type: "item", body: {} } as const;
    const split = items.each(() => [1, 2, 3].map((id) => ({ ...event, id: `${id}` })), {
      concurrency: 2,
    });
    const { receive } = subject({ "*": split }, one.options);
    expect(await receive()).toMatchObject({ code: "processed" });
    const { spanId } = one.spanOf("process mail").spanContext();
    const spans = one.spans().filter(({ name }) => name === "process items");
    expect(spans.map((span) => span.parentSpanContext?.spanId)).toEqual([spanId, spanId, spanId]);
  });
});

const raise = (error: unknown): never => {
  throw error;
};

describe("around", () => {
  const runContext = {
    type: "email.sent",
    deliveryId: "dlv_1",
    delivery: { method: "POST", headers: {}, body: new Uint8Array() },
  } as unknown as Parameters<ReturnType<typeof subject>["hooks"]["around"]>[1];

  test("returns the result of a synchronous handler, and throws its error, synchronously", () => {
    const { around } = subject({ "*": () => {} }, sdk().options).hooks;
    expect(around(() => "result", runContext)).toBe("result");
    const error = new Error("no");
    expect(() => around(() => raise(error), runContext)).toThrow(error);
  });

  test.each<[string, () => Partial<Tracer>]>([
    ["startSpan throws", () => ({ startSpan: () => raise(new Error("tracer")) })],
    [
      "each method of a span throws",
      () => ({
        startSpan: () =>
          new Proxy(Object.create(null) as never, { get: () => () => raise(new Error("span")) }),
      }),
    ],
    ["a span has no methods", () => ({ startSpan: () => ({}) as never })],
  ])("runs the handler once and changes no outcome if %s", async (_what, tracer) => {
    let runs = 0;
    const failing = async () => {
      runs += 1;
      throw new Error("handler");
    };
    const { receive } = subject(
      { "email.sent": () => (runs += 1), "email.delivered": failing },
      { ...sdk().options, tracer: tracer() as Tracer },
    );
    expect(await receive("email.sent")).toMatchObject({ code: "processed" });
    expect(await receive("email.delivered")).toMatchObject({ code: "handler_failed" });
    expect(runs).toBe(2);
  });

  test.each(["before", "after", "twice"])(
    "runs the handler once if the context manager fails %s it",
    async (when) => {
      const one = sdk();
      let runs = 0;
      const { receive } = subject({ "*": () => (runs += 1) }, one.options);
      context.disable();
      const bad = {
        active: () => ROOT_CONTEXT,
        with(_context: unknown, work: () => unknown) {
          if (when !== "before") work();
          if (when === "twice") return work();
          return raise(new Error("context manager"));
        },
        bind: (_context: unknown, target: unknown) => target,
        enable() {},
        disable() {},
      };
      context.setGlobalContextManager(bad as never);
      expect(await receive()).toMatchObject({ code: "processed" });
      expect(runs).toBe(1);
      expect(one.spans()).toHaveLength(1);
    },
  );

  test("changes no outcome if a meter or its instruments throw", async () => {
    const broken = new Proxy({}, { get: () => () => raise(new Error("meter")) }) as Meter;
    const instrument = new Proxy({}, { get: () => () => raise(new Error("instrument")) });
    const half = new Proxy({}, { get: () => () => instrument }) as Meter;
    for (const meter of [broken, half]) {
      const inbox = { admin: { stats: () => raise(new Error("stats")) } };
      const { receive, hooks } = subject({ "*": () => {} }, { ...sdk().options, meter, inbox });
      expect(await receive()).toMatchObject({ code: "processed" });
      expect(hooks.observe({ warnings: ["old_secret"] } as never)).toBeUndefined();
    }
  });
});
