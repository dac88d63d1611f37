import { eventBody, signed } from "@svc-webhooks/kit/deliveries";
import { settled } from "@svc-webhooks/kit/settled";
import { describe, expect, test } from "vitest";
import {
  defineInbox,
  runJob,
  traceOf,
  type Enqueue,
  type Inbox,
  type InboxJob,
} from "../src/inbox.js";
import { PermanentError, type DeliveryContext, type ReceiverOptions } from "../src/index.js";
import { bothWays, never, observed, second, send, throwing, timed } from "./support.js";

/** A receiver whose events run from a queue, and the jobs that the queue received. */
function queued(enqueue: Enqueue = async () => {}, options: Partial<ReceiverOptions> = {}) {
  const jobs: InboxJob[] = [];
  const contexts: DeliveryContext[] = [];
  const inbox = defineInbox((job, call) => {
    jobs.push(job);
    return enqueue(job, call);
  });
  const on = {
    "*": inbox((_: unknown, context: DeliveryContext) => void contexts.push(context)),
    "email.sent": (_: unknown, context: DeliveryContext) => void contexts.push(context),
  };
  return { jobs, contexts, ...timed({ on, ...options }) };
}

const delivered = eventBody("email.delivered", { id: "evt_1" });

describe("a handler that runs from a queue", () => {
  test("is not called by receive, which stores the delivery and makes no store call", async () => {
    const { receiver, jobs, contexts, operations, reports } = queued();
    const outcome = await send(receiver, delivered);
    expect(outcome).toMatchObject({ code: "enqueued", status: 200, type: "email.delivered" });
    expect(outcome).not.toHaveProperty("run");
    expect(contexts).toEqual([]);
    expect(operations()).toEqual([]);
    expect(jobs).toEqual([
      {
        v: 1,
        key: expect.stringMatching(/^[0-9a-f]{32}$/),
        type: "email.delivered",
        deliveryId: "dlv_1",
        receivedAt: outcome.receivedAt,
        headers: expect.objectContaining({ "x-svc-delivery-id": "dlv_1" }),
        body: delivered,
      },
    ]);
    expect(reports).toMatchObject([{ code: "enqueued", enqueueMs: 0 }]);
  });

  test("has the same key as the run that resume starts", async () => {
    const { receiver, jobs, contexts } = queued();
    await send(receiver, delivered);
    const outcome = await receiver.resume(await signed(delivered));
    expect(outcome).toMatchObject({ code: "processed", run: 1 });
    expect(contexts.map(({ idempotencyKey }) => idempotencyKey)).toEqual([jobs[0]?.key]);
  });

  test("leaves the other types inline", async () => {
    const { receiver, jobs, contexts } = queued();
    expect((await send(receiver)).code).toBe("processed");
    expect([jobs, contexts]).toMatchObject([[], [{ type: "email.sent" }]]);
  });

  test.each(bothWays(new Error("ECONNREFUSED")))(
    "ends as queue_unavailable if the queue %s",
    async (_, fails) => {
      const { receiver, operations, lines } = queued(fails);
      expect(await send(receiver, delivered)).toMatchObject({
        code: "queue_unavailable",
        status: 503,
        retryAfterMs: 5 * second,
      });
      expect(operations()).toEqual([]);
      expect(lines).toEqual([expect.stringMatching(/ queue_unavailable: .+ECONNREFUSED\. /)]);
    },
  );

  test("passes the pause that the queue's error asks for to the sender", async () => {
    const full = Object.assign(new Error("full"), { retryAfterMs: 60 * second });
    const { receiver } = queued(() => Promise.reject(full));
    expect(await send(receiver, delivered)).toMatchObject({ retryAfterMs: 60 * second });
  });

  test("ends as queue_unavailable after handlerTimeoutMs, and aborts the signal", async () => {
    const signals: AbortSignal[] = [];
    const { receiver, clock, jobs } = queued((_, { signal }) => {
      signals.push(signal);
      return never();
    });
    const outcome = send(receiver, delivered);
    await settled();
    await clock.advance(10 * second - 1);
    expect(signals).toMatchObject([{ aborted: false }]);
    await clock.advance(1);
    expect(await outcome).toMatchObject({ code: "queue_unavailable" });
    expect(signals).toMatchObject([{ aborted: true }]);
    expect(jobs).toHaveLength(1);
  });

  test("receives the event as it was sent: its schema runs in the worker", async () => {
    const events: unknown[] = [];
    const { receiver } = queued(async (_, { event }) => events.push(event), {
      events: {
        "email.delivered": {
          "~standard": {
            version: 1,
            vendor: "test",
            validate: () => ({ issues: [{ message: "no" }] }),
          },
        },
      },
    });
    expect((await send(receiver, delivered)).code).toBe("enqueued");
    expect(events).toEqual([JSON.parse(delivered)]);
    expect((await receiver.resume(await signed(delivered))).code).toBe("event_invalid");
  });

  test("counts as pending work until the queue has responded", async () => {
    let store!: () => void;
    const { receiver } = queued(() => new Promise<void>((resolve) => (store = resolve)));
    const outcome = send(receiver, delivered);
    await settled();
    const left = receiver.drain({ deadlineMs: 60 * second });
    store();
    expect(await left).toBe(0);
    expect((await outcome).code).toBe("enqueued");
  });

  test("needs no onParked for maxRuns, because the queue keeps the delivery", () => {
    const inbox = defineInbox(async () => {});
    expect(() => observed({ maxRuns: 3, on: { "*": inbox(() => {}) } })).not.toThrow();
    const on = { "email.sent": () => {}, "*": inbox(() => {}) };
    expect(() => observed({ maxRuns: 3, on })).toThrow(
      expect.objectContaining({ code: "missing_on_parked" }),
    );
  });
});

describe("a queue with a limit", () => {
  const inbox = defineInbox(async () => {}, { maxBodyBytes: 90_000 });
  const build = (options: Partial<ReceiverOptions>) => () =>
    observed({ on: { "email.sent": () => {}, "email.*": inbox(() => {}) }, ...options });

  test("refuses to build a receiver that accepts larger bodies, with the fix", () => {
    const refusal = { code: "invalid_option", option: "maxBodyBytes" };
    for (const maxBodyBytes of [undefined, 90_001]) {
      expect(build({ maxBodyBytes })).toThrow(expect.objectContaining(refusal) as Error);
      expect(build({ maxBodyBytes })).toThrow(
        `The queue of an inbox handler stores bodies of up to 90000 bytes. Set \`maxBodyBytes\`, which is ${maxBodyBytes ?? 1_048_576}, to at most this number. `,
      );
    }
  });

  test("stores what its receiver accepts, and never receives a larger body", async () => {
    const { receiver } = build({ maxBodyBytes: 90_000 })();
    const sized = (bytes: number) => eventBody("email.delivered").padEnd(bytes);
    expect((await send(receiver, sized(90_000))).code).toBe("enqueued");
    expect((await send(receiver, sized(90_001))).code).toBe("body_too_large");
  });

  test("does not limit receivers whose handlers run inline or from another queue", () => {
    const other = defineInbox(async () => {}, { maxBodyBytes: undefined });
    expect(build({ on: { "*": other(() => {}) } })).not.toThrow();
    expect(build({ on: { "*": () => {} } })).not.toThrow();
  });

  test("refuses a misspelled option", () => {
    expect(() => defineInbox(async () => {}, { maxBytes: 1 } as object)).toThrow(
      expect.objectContaining({ code: "unknown_option", option: "maxBytes" }) as Error,
    );
  });
});

describe("inbox", () => {
  const inbox = defineInbox(async () => {});

  test("without a handler makes one that only stores", async () => {
    const { receiver, lines } = observed({ on: { "*": inbox() } });
    expect((await send(receiver)).code).toBe("enqueued");
    expect((await receiver.resume(await signed())).code).toBe("handler_failed");
    expect(lines).toEqual([expect.stringContaining("This process only stores deliveries")]);
  });

  test("refuses anything but a function", () => {
    for (const handler of [undefined, null, {}, "email.sent"] as never[]) {
      expect(() => inbox(handler)).toThrow(expect.objectContaining({ code: "invalid_handler" }));
    }
  });

  test("does not change the handler, which may also run inline", async () => {
    const handler = () => {};
    const { receiver } = observed({ on: { "*": inbox(handler), "email.sent": handler } });
    expect((await send(receiver)).code).toBe("processed");
  });
});

describe("the around of an inbox", () => {
  /** Returns a receiver whose inbox stores with `around`, and the jobs. */
  function surrounded(around: NonNullable<Inbox["around"]>) {
    const jobs: InboxJob[] = [];
    const inbox = defineInbox(async (job) => void jobs.push(job));
    inbox.around = around;
    let seen: string | undefined;
    const on = { "*": inbox((_, context) => void (seen = traceOf(context))) };
    return { jobs, seen: () => seen, ...timed({ on }) };
  }

  test("stores the job, and passes the text that its run reads", async () => {
    const contexts: unknown[] = [];
    const { receiver, jobs, seen } = surrounded((store, context) => {
      contexts.push(context.deliveryId);
      return store("text");
    });
    const traced = { traceparent: "from the request" };
    await receiver.receive(await signed(delivered, traced));
    expect([jobs, contexts]).toMatchObject([[{ trace: "text", body: delivered }], ["dlv_1"]]);
    expect(JSON.stringify(jobs)).not.toContain("from the request");
    const job = JSON.parse(JSON.stringify(jobs[0])) as unknown;
    expect(await runJob(receiver, job)).toEqual({ action: "done", code: "processed" });
    expect(seen()).toBe("text");
  });

  test("ends the delivery as queue_unavailable if it throws or rejects", async () => {
    for (const around of [throwing(new Error("no")), () => Promise.reject(new Error("no"))]) {
      const { receiver, jobs } = surrounded(around);
      expect((await send(receiver, delivered)).code).toBe("queue_unavailable");
      expect(jobs).toEqual([]);
    }
  });

  test.each<[string, NonNullable<Inbox["around"]>]>([
    ["does not call it", () => {}],
    ["does not return its promise, which rejects", (store) => void store()],
    ["does not await its promise, which rejects", async (store) => void store()],
  ])("stores no delivery if it %s", async (_, around) => {
    const inbox = defineInbox(() => Promise.reject(new Error("down")));
    inbox.around = around;
    const { receiver } = timed({ on: { "*": inbox(() => {}) } });
    expect((await send(receiver, delivered)).code).toBe("queue_unavailable");
  });

  test("that passes no text, as a callback of a tracer, stores none", async () => {
    const { receiver, jobs } = surrounded((store) => store({ circular: true } as never));
    expect((await send(receiver, delivered)).code).toBe("enqueued");
    expect(jobs[0]).not.toHaveProperty("trace");
  });

  test("may store without a text, and an inline run has none", async () => {
    const { receiver, jobs, seen } = surrounded((store) => store());
    await send(receiver, delivered);
    expect(jobs[0]).not.toHaveProperty("trace");
    await receiver.resume(await signed(delivered));
    expect(seen()).toBeUndefined();
  });
});

describe("resume", () => {
  const problem = new PermanentError("no such customer");

  test.each(["other", "0".repeat(32)])("runs no handler under the key %j", async (key) => {
    const { receiver, contexts, operations, lines } = queued();
    const errors: unknown[] = [];
    const onError = (error: unknown) => errors.push(error);
    const outcome = await receiver.resume(await signed(delivered), { key, onError });
    expect(outcome.code).toBe("misconfigured");
    expect(errors).toMatchObject([{ code: "permanent_error" }]);
    expect([contexts, operations()]).toEqual([[], []]);
    expect(lines).toEqual([
      expect.stringContaining("another name or dedupeBy: give both the same `name` and `dedupeBy`"),
    ]);
  });

  test("passes the error of a run to onError, before the hooks of the receiver", async () => {
    const calls: unknown[] = [];
    const { receiver } = observed({
      on: {
        "*": () => {
          throw problem;
        },
      },
      onParked: () => {
        calls.push("onParked");
        throw new Error("no disk");
      },
      onHandlerError: (error) => calls.push(`onHandlerError ${String(error)}`),
    });
    const onError = (error: unknown) => calls.push(String(error));
    expect((await receiver.resume(await signed(), { onError })).code).toBe("handler_failed");
    expect(calls).toEqual([
      "PermanentError: no such customer",
      "onParked",
      "Error: no disk",
      "onHandlerError Error: no disk",
    ]);
  });

  test("survives an onError that throws", async () => {
    const { receiver, lines } = observed({ on: { "*": () => Promise.reject(new Error("no")) } });
    const onError = () => {
      throw new Error("the hook failed");
    };
    expect((await receiver.resume(await signed(), { onError })).code).toBe("handler_failed");
    expect(lines).toEqual([expect.stringContaining("the hook failed"), "handler: Error: no"]);
  });

  test("reports a parked event as dropped only if the caller does not keep it", async () => {
    const lines: string[] = [];
    const on = { "*": () => Promise.reject(problem) };
    const { receiver } = observed({
      on,
      log: (line) => lines.push(line),
      onHandlerError: undefined,
    });
    await receiver.resume(await signed(), { onError: () => {} });
    expect(lines).toEqual([expect.not.stringContaining("dropped")]);
    await receiver.resume(await signed());
    expect(lines[1]).toContain("parked and dropped");
  });
});
