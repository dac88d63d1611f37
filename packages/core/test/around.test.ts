import { AsyncLocalStorage } from "node:async_hooks";
import { eventBody } from "@svc-webhooks/kit/deliveries";
import { gate } from "@svc-webhooks/kit/gate";
import { settled } from "@svc-webhooks/kit/settled";
import { describe, expect, onTestFinished, test } from "vitest";
import {
  parseDelivery,
  PermanentError,
  RetryError,
  serializeDelivery,
  type CommonOptions,
  type DeliveryContext,
  type ReceiverOptions,
} from "../src/index.js";
import { defineInbox } from "../src/inbox.js";
import { gated, recorded, schemaBy, second, send, throwing, timed } from "./support.js";

type Around = NonNullable<CommonOptions["around"]>;

/** A receiver with `around` and a handler, which notes its runs, and the errors of its runs. */
function surrounded(
  around: Around,
  handle: (context: DeliveryContext) => unknown = () => {},
  options: Partial<ReceiverOptions> = {},
) {
  const notes: string[] = [];
  const errors: unknown[] = [];
  const bench = timed({
    around,
    on: {
      "*": (_, context) => {
        notes.push(`run ${context.run}`);
        return handle(context) as undefined;
      },
    },
    onHandlerError: (error) => errors.push(error),
    ...options,
  });
  return { ...bench, notes, errors };
}

/** Records the promises of this test whose rejection nothing handles. Vitest would fail, but only after the test. */
function unhandled() {
  const reasons: unknown[] = [];
  const note = (reason: unknown) => reasons.push(reason);
  process.on("unhandledRejection", note);
  onTestFinished(() => void process.off("unhandledRejection", note));
  return reasons;
}

const reject = (message: string) => () => Promise.reject(new Error(message));

const didNotRun = "`around` ended before it called `run`. Return run().";

describe("around", () => {
  test.each<[string, Around]>([
    ["returns the result of run", (run) => run()],
    ["awaits run", async (run) => void (await run())],
    ["calls run later", async (run) => settled().then(run)],
    ["does not return the result of run", (run) => void run()],
    ["calls run twice", (run) => [run(), run()]],
    ["calls run twice, one after the other", async (run) => [await run(), await run()]],
    ["catches errors that do not occur", async (run) => Promise.resolve(run()).catch(() => {})],
    // oxlint-disable-next-line unicorn/no-thenable
    ["returns a thenable", (run) => ({ then: (use: (value: unknown) => void) => use(run()) })],
  ])("that %s runs the handler once, and the event is processed", async (_, around) => {
    for (const handle of [() => {}, () => settled()]) {
      const { receiver, notes, errors, operations } = surrounded(around, handle);
      expect((await send(receiver)).code).toBe("processed");
      expect((await send(receiver)).code).toBe("duplicate");
      expect(notes).toEqual(["run 1"]);
      expect(errors).toEqual([]);
      expect(operations()).toEqual(["claim", "complete", "claim"]);
    }
  });

  test.each<[string, Around, string]>([
    ["throws before run", throwing(new Error("before")), "before"],
    ["rejects before run", reject("before"), "before"],
    ["never calls run", () => {}, didNotRun],
    ["never calls run, later", () => settled(), didNotRun],
    ["returns a value in place of run", () => "done", didNotRun],
  ])("that %s fails the run without running the handler", async (_, around, message) => {
    const { receiver, notes, errors, operations } = surrounded(around);
    expect(await send(receiver)).toMatchObject({ code: "handler_failed", status: 500 });
    expect(errors).toMatchObject([{ message }]);
    expect(notes).toEqual([]);
    expect(operations()).toEqual(["claim", "release failed"]);
  });

  test("runs a handler once that calls run itself", async () => {
    let again: (() => unknown) | undefined;
    const { receiver, notes, errors } = surrounded(
      (run) => {
        again = run;
        return run();
      },
      () => again?.(),
    );
    expect((await send(receiver)).code).toBe("handler_failed");
    expect(errors).toMatchObject([{ message: "`run` was called while it was running." }]);
    expect(notes).toEqual(["run 1"]);
  });

  test.each<[string, Around, string]>([
    [
      "throws after run",
      (run) => {
        void run();
        throw new Error("after");
      },
      "after",
    ],
    [
      "rejects after run",
      async (run) => {
        await run();
        throw new Error("after");
      },
      "after",
    ],
  ])("that %s fails the run, and the next attempt runs again", async (_, around, message) => {
    const { receiver, notes, errors, operations } = surrounded(around);
    expect((await send(receiver)).code).toBe("handler_failed");
    expect((await send(receiver)).code).toBe("handler_failed");
    expect(errors).toMatchObject([{ message }, { message }]);
    expect(notes).toEqual(["run 1", "run 2"]);
    expect(operations()).toEqual(["claim", "release failed", "claim", "release failed"]);
  });

  test.each<[string, Around]>([
    ["passes the error on", (run) => run()],
    ["does not return the result of run", (run) => void (async () => run())().catch(() => {})],
    ["ignores the promise of run", (run) => void run()],
    [
      "catches the error",
      async (run) => {
        try {
          await run();
        } catch {
          // The event would otherwise be acknowledged without having been handled.
        }
      },
    ],
    [
      "runs again after an error",
      async (run) => {
        try {
          return await run();
        } catch {
          return run();
        }
      },
    ],
    [
      "awaits something else first",
      async (run) => {
        const result = run();
        await settled();
        return result;
      },
    ],
  ])("that %s does not hide that the handler failed", async (_, around) => {
    const reasons = unhandled();
    for (const handle of [throwing(new Error("no")), reject("no")]) {
      const { receiver, notes, errors, operations } = surrounded(around, handle);
      expect((await send(receiver)).code).toBe("handler_failed");
      expect(errors).toMatchObject([{ message: "no" }]);
      expect(notes).toEqual(["run 1"]);
      expect(operations()).toEqual(["claim", "release failed"]);
    }
    await settled();
    expect(reasons).toEqual([]);
  });

  test("that settles before the handler keeps the claim until the handler has settled", async () => {
    const endings: [Around, string][] = [
      [(run) => void run(), "processed"],
      [async (run) => Promise.race([run(), settled().then(throwing(new Error("slow")))]), "failed"],
    ];
    for (const [around, ending] of endings) {
      const { receiver, finish, operations } = gated({ around, onHandlerError: () => {} });
      const running = send(receiver);
      await settled();
      await settled();
      expect((await send(receiver)).code).toBe("in_flight");
      expect(operations()).toEqual(["claim", "claim"]);
      await finish();
      const code = ending === "failed" ? "handler_failed" : ending;
      expect((await running).code).toBe(code);
      expect(operations()[2]).toBe(ending === "failed" ? "release failed" : "complete");
    }
  });

  test("that settles after the handler keeps the lease until then", async () => {
    const { opened, open } = gate();
    const { receiver, clock, notes, operations } = surrounded(async (run) => {
      await run();
      await opened;
    });
    const running = send(receiver);
    await clock.advance(10 * second);
    expect((await running).code).toBe("handler_timeout");
    expect(notes).toEqual(["run 1"]);
    await clock.advance(50 * second);
    expect((await send(receiver)).code).toBe("in_flight");
    open();
    await settled();
    expect((await send(receiver)).code).toBe("duplicate");
    expect(operations().filter((operation) => operation === "complete")).toHaveLength(1);
  });

  test.each<[string, (run: () => unknown, late: Promise<unknown>) => unknown, string]>([
    ["returns nothing", (run, late) => void late.then(run), didNotRun],
    ["resolves", async (run, late) => void late.then(run), didNotRun],
    [
      "throws",
      (run, late) => {
        void late.then(run);
        throw new Error("no");
      },
      "no",
    ],
  ])("that %s, and calls run later, does not run the handler", async (_, around, message) => {
    const reasons = unhandled();
    const { opened, open } = gate();
    const lateResults: unknown[] = [];
    const { receiver, notes, errors } = surrounded((run) =>
      around(() => lateResults.push(run()), opened),
    );
    expect(await send(receiver)).toMatchObject({ code: "handler_failed", status: 500 });
    open();
    await settled();
    expect(lateResults).toEqual([undefined]);
    expect([notes, reasons]).toEqual([[], []]);
    expect(errors).toMatchObject([{ message }]);
  });

  test("that calls run after the lease has ended does not run the handler", async () => {
    const { opened, open } = gate();
    const { receiver, clock, notes, errors } = surrounded(
      (run) => opened.then(run),
      () => {},
      { leaseMs: 10 * second, handlerTimeoutMs: 5 * second, maxRunMs: 10 * second },
    );
    void send(receiver);
    await clock.advance(30 * second);
    open();
    await settled();
    expect(notes).toEqual([]);
    expect(errors).toMatchObject([{ message: "the lease ended before the handler started" }]);
  });

  test("chooses what happens to an event with PermanentError and RetryError", async () => {
    const parked = surrounded(throwing(new PermanentError("no")), undefined, {
      onParked: () => {},
    });
    expect((await send(parked.receiver)).code).toBe("parked");
    const retried = surrounded(throwing(new RetryError({ retryAfterMs: 90_000 })));
    expect(await send(retried.receiver)).toMatchObject({
      code: "handler_failed",
      retryAfterMs: 90_000,
    });
    expect([...parked.notes, ...retried.notes]).toEqual([]);
  });

  test("cannot hide a handler that returns an iterator", async () => {
    const { receiver, errors } = surrounded(
      (run) => void run(),
      function* () {
        yield 1;
      },
    );
    expect((await send(receiver)).code).toBe("handler_failed");
    expect(errors).toMatchObject([{ message: expect.stringContaining("iterator") as string }]);
  });

  test("receives the context of the handler, and this is undefined", async () => {
    const seen: unknown[] = [];
    const { receiver, contexts } = recorded({
      around: function (this: unknown, run, context) {
        seen.push(this, context);
        return run();
      },
    });
    await send(receiver);
    expect(seen).toEqual([undefined, contexts[0]]);
    expect(seen[1]).toBe(contexts[0]);
  });

  test("returns what the handler returned", async () => {
    const results: unknown[] = [];
    const { receiver } = recorded({
      around: (run) => void results.push(run()),
      handle: () => "value",
    });
    await send(receiver);
    expect(results).toEqual(["value"]);
  });

  test.each<[string, Around]>([
    ["returns the result of run", (run) => run()],
    ["awaits run", async (run) => void (await run())],
    ["does not return the result of run", (run) => void run()],
  ])("starts a query of a query builder once if it %s", async (_how, around) => {
    let starts = 0;
    const query = {
      // oxlint-disable-next-line unicorn/no-thenable -- as queries of query builders are
      then(use: (value: unknown) => void) {
        starts += 1;
        use(undefined);
      },
    };
    const { receiver } = surrounded(around, () => query);
    expect((await send(receiver)).code).toBe("processed");
    expect(starts).toBe(1);
  });

  test("gives the handler its asynchronous context", async () => {
    const storage = new AsyncLocalStorage<string>();
    const seen: unknown[] = [];
    const { receiver } = surrounded(
      (run, { deliveryId }) => storage.run(deliveryId, run),
      async () => {
        await settled();
        seen.push(storage.getStore());
      },
    );
    await send(receiver);
    expect(seen).toEqual(["dlv_1"]);
  });

  test("runs after the schema, and not for an event that fails it", async () => {
    const notes: string[] = [];
    const around: Around = (run) => {
      notes.push("around");
      return run();
    };
    const schema = (issues?: readonly { message: string }[]) =>
      schemaBy((value) => {
        notes.push("schema");
        return issues ? { issues } : { value };
      });
    const good = surrounded(around, () => notes.push("handler"), {
      events: { "email.sent": schema() },
    });
    expect((await send(good.receiver, eventBody("email.sent"))).code).toBe("processed");
    expect(notes.splice(0)).toEqual(["schema", "around", "handler"]);
    const bad = surrounded(around, undefined, {
      events: { "email.sent": schema([{ message: "no" }]) },
    });
    expect((await send(bad.receiver, eventBody("email.sent"))).code).toBe("event_invalid");
    expect(notes).toEqual(["schema"]);
  });

  test("does not run for a duplicate, nor for an event that was given up", async () => {
    const notes: string[] = [];
    const around: Around = (run, { run: count }) => {
      notes.push(`around ${count}`);
      return run();
    };
    const { receiver } = surrounded(around, reject("no"), { maxRuns: 1, onParked: () => {} });
    await send(receiver);
    expect((await send(receiver)).code).toBe("parked");
    expect((await send(receiver)).code).toBe("parked");
    expect(notes).toEqual(["around 1"]);
  });

  test("runs in resume, and not while a delivery is stored in a queue", async () => {
    const notes: string[] = [];
    const jobs: string[] = [];
    const inbox = defineInbox(async ({ key }) => void jobs.push(key));
    const { receiver } = timed({
      around: (run) => {
        notes.push("around");
        return run();
      },
      on: {
        "*": inbox((_, { delivery }) => {
          notes.push("handler");
          jobs.push(serializeDelivery(delivery));
        }),
      },
    });
    expect((await send(receiver)).code).toBe("enqueued");
    expect([notes, jobs.length]).toEqual([[], 1]);
    const stored = { method: "POST", headers: { "x-svc-delivery-id": "dlv_1" }, body: "e30=" };
    const delivery = parseDelivery({ ...stored, body: btoa(eventBody()) });
    expect((await receiver.resume(delivery)).code).toBe("processed");
    expect(notes).toEqual(["around", "handler"]);
  });

  test("that does not call run in resume fails the run", async () => {
    const errors: unknown[] = [];
    const { receiver, notes } = surrounded(() => {});
    const headers = { "x-svc-delivery-id": "dlv_1" };
    const delivery = parseDelivery({ method: "POST", headers, body: btoa(eventBody()) });
    const outcome = await receiver.resume(delivery, { onError: (error) => errors.push(error) });
    expect(outcome.code).toBe("handler_failed");
    expect(errors).toMatchObject([{ message: didNotRun }]);
    expect(notes).toEqual([]);
  });

  test.each([
    ["succeeds", () => {}, ["complete"]],
    ["throws", throwing(new Error("no")), []],
  ])("stays synchronous with a synchronous handler that %s", async (_, handle, calls) => {
    const order: string[] = [];
    const { receiver } = timed(
      {
        around: (run) => {
          void Promise.resolve().then(() => order.push("turn"));
          order.push("around");
          return run();
        },
        on: { "*": handle },
      },
      (store) => ({
        complete(...call) {
          order.push("complete");
          return store.complete(...call);
        },
      }),
    );
    await send(receiver);
    // The completion comes before the next turn of the event loop.
    expect(order.filter((what) => what !== "turn")).toEqual(["around", ...calls]);
    expect(order.indexOf("turn")).toBe(calls.length + 1);
  });

  test.each(["x", 1, {}, true])("of %j is refused", (around) => {
    expect(() => timed({ around: around as never })).toThrow(
      expect.objectContaining({ code: "invalid_option", option: "around" }) as Error,
    );
  });
});
