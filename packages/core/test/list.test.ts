import { gate } from "@svc-webhooks/kit/gate";
import { settled } from "@svc-webhooks/kit/settled";
import { describe, expect, test } from "vitest";
import { reconcile } from "../src/reconcile.js";
import { defineInbox, runJob, type Inbox, type InboxJob } from "../src/inbox.js";
import {
  createIntake,
  memoryStore,
  RetryError,
  type AnyEvent,
  type DeliveryContext,
  type Handler,
  type ListOptions,
} from "../src/index.js";
import { noting, observed, operationsOf, second, send, timed, type NotedCall } from "./support.js";

interface Item {
  readonly id?: string;
}

/** A receiver of lists, and the intake of their items, each with the calls of its store. */
function lists({
  handle = () => {},
  listInbox,
  itemInbox,
  options = {},
  limit = {},
}: {
  readonly handle?: Handler;
  readonly listInbox?: Inbox;
  readonly itemInbox?: Inbox;
  readonly options?: ListOptions;
  readonly limit?: { readonly handlerTimeoutMs?: number };
} = {}) {
  const errors: unknown[] = [];
  const itemCalls: NotedCall[] = [];
  const listCalls: NotedCall[] = [];
  const store = memoryStore();
  const ran: unknown[] = [];
  const items = createIntake({
    name: "items",
    store: noting(itemCalls, store),
    sources: ["list"],
    log: () => {},
    on: {
      item: async (event, context) => {
        ran.push(event["id"]);
        await (handle as (event: AnyEvent, context: DeliveryContext) => unknown)(event, context);
      },
      stored: itemInbox?.(() => {}),
    },
  });
  const split = items.each((event) => eventsOf(event), options);
  const { receiver, reports } = observed({
    ...limit,
    store: noting(listCalls, store),
    name: "lists",
    onHandlerError: (error) => errors.push(error),
    on: { "*": listInbox ? listInbox(split) : split },
  });
  const deliver = (list: readonly Item[], more: object = {}) =>
    send(receiver, JSON.stringify({ type: "events", list, ...more }));
  return { deliver, items, itemCalls, listCalls, ran, errors, receiver, reports };
}

const eventsOf = (event: AnyEvent) =>
  (event["list"] as Item[]).map((item) => ({
    source: "list" as const,
    id: item.id as string,
    type: (event["as"] as string | undefined) ?? "item",
    body: item,
  }));

const three = [{ id: "1" }, { id: "2" }, { id: "3" }];

/** Fails for this id until `repair` is called. */
function failing(id: string, error: unknown = new Error("no")) {
  let isBroken = true;
  const handle: Handler = (event) => {
    if (isBroken && event["id"] === id) throw error;
  };
  return { handle, repair: () => (isBroken = false) };
}

describe("a list", () => {
  test("is done when all of its events are, and is then a duplicate with one call", async () => {
    const { deliver, ran, itemCalls, listCalls } = lists();
    expect((await deliver(three)).code).toBe("processed");
    expect((await deliver(three)).code).toBe("duplicate");
    expect(ran).toEqual(["1", "2", "3"]);
    expect(operationsOf(itemCalls)).toHaveLength(6);
    expect(operationsOf(listCalls)).toEqual(["claim", "complete", "claim"]);
  });

  test("runs only the rest in the next attempt", async () => {
    const { handle, repair } = failing("2");
    const { deliver, ran, errors, itemCalls } = lists({ handle });
    expect(await deliver(three)).toMatchObject({ code: "handler_failed", status: 500 });
    expect(errors).toEqual([
      expect.objectContaining({
        code: "list_incomplete",
        message: "1 of 3 events are not done: 1 handler_failed.",
      }),
    ]);
    repair();
    itemCalls.length = 0;
    expect((await deliver(three)).code).toBe("processed");
    expect(ran).toEqual(["1", "2", "3", "2"]);
    expect(operationsOf(itemCalls)).toEqual(["claim", "claim", "complete", "claim"]);
  });

  test("waits as long as its event that waits longest", async () => {
    const { deliver, errors } = lists({
      handle: (event) => {
        if (event["id"] === "1") throw new RetryError({ retryAfterMs: 90 * second });
        if (event["id"] === "2") throw new RetryError({ retryAfterMs: 9 * second });
        throw new Error("no");
      },
    });
    expect(await deliver(three)).toMatchObject({
      code: "handler_failed",
      retryAfterMs: 90 * second,
    });
    expect(errors).toMatchObject([{ cause: { code: "list_incomplete" } }]);
  });

  test("is never acknowledged if an event is neither done nor stored", async () => {
    const { deliver, ran, errors } = lists();
    expect((await deliver([{ id: "1" }, {}, { id: "3" }])).code).toBe("handler_failed");
    expect(ran).toEqual(["1", "3"]);
    expect(errors).toMatchObject([{ message: expect.stringContaining("1 delivery_id_missing") }]);
  });

  test("runs an event once that it contains twice", async () => {
    const { deliver, ran } = lists();
    expect((await deliver([{ id: "1" }, { id: "1" }])).code).toBe("processed");
    expect(ran).toEqual(["1"]);
  });

  test("repeats an event once more that it contains twice, with concurrency", async () => {
    const { opened, open } = gate();
    const { deliver, ran } = lists({ handle: () => opened, options: { concurrency: 2 } });
    const first = deliver([{ id: "1" }, { id: "1" }]);
    await settled();
    open();
    expect(await first).toMatchObject({ code: "handler_failed", retryAfterMs: 5 * second });
    expect((await deliver([{ id: "1" }, { id: "1" }])).code).toBe("processed");
    expect(ran).toEqual(["1"]);
  });

  test("ignores events without a handler, and an empty list is done", async () => {
    const { deliver } = lists();
    expect((await deliver(three, { as: "other" })).code).toBe("processed");
    expect((await deliver([])).code).toBe("duplicate");
  });

  test("is refused as a whole while a copy runs", async () => {
    const { opened, open } = gate();
    const { deliver, ran } = lists({ handle: () => opened });
    const first = deliver(three);
    await settled();
    expect((await deliver(three)).code).toBe("in_flight");
    open();
    expect((await first).code).toBe("processed");
    expect(ran).toEqual(["1", "2", "3"]);
  });

  test("starts events in order, and never more at a time than `concurrency`", async () => {
    const openings = new Map<unknown, () => void>();
    const { deliver, ran } = lists({
      options: { concurrency: 4 },
      handle: (event) => {
        const { opened, open } = gate();
        openings.set(event["id"], open);
        return opened;
      },
    });
    const list = Array.from({ length: 30 }, (_, index) => ({ id: `${index}` }));
    const done = deliver(list);
    for (const [index, { id }] of list.entries()) {
      await settled();
      expect(ran).toHaveLength(Math.min(index + 4, 30));
      openings.get(id)?.();
    }
    expect((await done).code).toBe("processed");
    expect(ran).toEqual(list.map(({ id }) => id));
  });

  test("claims nothing if it has more than `maxEvents`, even if it is endless", async () => {
    const { deliver, items, errors, itemCalls } = lists({ options: { maxEvents: 2 } });
    expect((await deliver(three)).code).toBe("handler_failed");
    expect(errors).toMatchObject([{ code: "invalid_option", option: "events" }]);
    function* endless() {
      for (;;) yield { source: "list", id: "1", body: {} } as const;
    }
    await expect(items.acceptAll(endless())).rejects.toThrow("of at most 10000 events");
    expect(itemCalls).toEqual([]);
  });

  test("may be split asynchronously, and fails if that rejects", async () => {
    const items = createIntake({ sources: ["list"], on: { item: () => {} }, log: () => {} });
    const { receiver } = observed({ on: { "*": items.each(async (event) => eventsOf(event)) } });
    const body = JSON.stringify({ type: "events", list: three });
    expect((await send(receiver, body)).code).toBe("processed");
    const rejecting = items.each(() => Promise.reject(new Error("no")));
    const { receiver: failed, lines } = observed({ on: { "*": rejecting } });
    expect((await send(failed, body)).code).toBe("handler_failed");
    expect(lines).toContain("handler: Error: no");
  });

  test("waits as long as its events, even if a time among them is not a number", async () => {
    const { deliver } = lists({
      handle: (event) => {
        throw new RetryError({ retryAfterMs: event["id"] === "2" ? Number.NaN : 90 * second });
      },
    });
    expect(await deliver(three)).toHaveProperty("retryAfterMs", 90 * second);
  });

  test("fails if `split` does", async () => {
    const { deliver, errors } = lists();
    expect((await deliver(undefined as never)).code).toBe("handler_failed");
    expect(errors).toEqual([expect.any(TypeError)]);
  });

  test("runs on after the response, and is then a duplicate", async () => {
    const { opened, open } = gate();
    const { clock } = timed();
    const items = createIntake({
      name: "items",
      sources: ["list"],
      clock,
      on: { item: () => opened },
      log: () => {},
    });
    const { receiver } = timed({
      clock,
      name: "lists",
      handlerTimeoutMs: second,
      on: { "*": items.each((event) => eventsOf(event)) },
    });
    const deliver = () => send(receiver, JSON.stringify({ type: "events", list: three }));
    const first = deliver();
    await settled();
    await clock.advance(second);
    expect((await first).code).toBe("handler_timeout");
    expect((await deliver()).code).toBe("in_flight");
    open();
    await settled();
    expect((await deliver()).code).toBe("duplicate");
  });

  test("is one job of an inbox, whose retries run the rest", async () => {
    const jobs: InboxJob[] = [];
    const { handle, repair } = failing("2");
    const listInbox = defineInbox(async (job) => jobs.push(job));
    const { deliver, ran, receiver } = lists({ handle, listInbox });
    expect((await deliver(three)).code).toBe("enqueued");
    expect(await runJob(receiver, jobs[0])).toMatchObject({
      action: "retry",
      error: { code: "list_incomplete" },
    });
    repair();
    expect(await runJob(receiver, jobs[0])).toHaveProperty("action", "done");
    expect(ran).toEqual(["1", "2", "3", "2"]);
  });

  test("is done when an inbox has stored all of its events", async () => {
    const stored: string[] = [];
    let isFull = true;
    const itemInbox = defineInbox(async (job) => {
      if (isFull && job.deliveryId === "2") throw new Error("full");
      stored.push(job.deliveryId);
    });
    const { deliver } = lists({ itemInbox });
    expect(await deliver(three, { as: "stored" })).toMatchObject({ retryAfterMs: 5 * second });
    isFull = false;
    expect((await deliver(three, { as: "stored" })).code).toBe("processed");
    expect([...new Set(stored)].toSorted()).toEqual(["1", "2", "3"]);
  });

  test("is reported, and so is each of its events with its source", async () => {
    const { deliver, reports } = lists();
    await deliver(three);
    expect(reports).toMatchObject([{ receiver: "lists", code: "processed" }]);
    expect(reports[0]).not.toHaveProperty("source");
  });
});

describe("acceptAll", () => {
  const intake = () => createIntake({ sources: ["list"], on: { item: () => {} }, log: () => {} });

  test("resolves to the outcomes in the order of the list", async () => {
    const events = eventsOf({ type: "events", list: [{ id: "1" }, {}, { id: "1" }] });
    for (const list of [events, new Set(events), events.values()]) {
      const outcomes = await intake().acceptAll(list, { concurrency: 1 });
      expect(outcomes.map(({ code }) => code)).toEqual([
        "processed",
        "delivery_id_missing",
        "duplicate",
      ]);
    }
    expect(await intake().acceptAll([])).toEqual([]);
  });

  test.each<[string, unknown, unknown, string]>([
    ["a list that is too long", Array.from({ length: 10_001 }), undefined, "events"],
    ["undefined", undefined, undefined, "events"],
    ["a text", "", undefined, "events"],
    ["no concurrency", [], { concurrency: 0 }, "concurrency"],
    ["half an event", [], { maxEvents: 0.5 }, "maxEvents"],
    ["too many", [], { maxEvents: 1_000_001 }, "maxEvents"],
    ["a misspelled option", [], { concurency: 2 }, "concurency"],
  ])("refuses %s", async (_, events, options, option) => {
    const code = option === "concurency" ? "unknown_option" : "invalid_option";
    const problem = expect.objectContaining({ code, option }) as Error;
    await expect(intake().acceptAll(events as never, options as never)).rejects.toThrow(problem);
    if (option !== "events") {
      expect(() => intake().each(() => [], options as never)).toThrow(problem);
    }
  });
});

test("reconcile repairs what a sender does not deliver again", async () => {
  const hourMs = 3_600_000;
  const createdAt = Date.now() - hourMs;
  const ran: unknown[] = [];
  const intake = createIntake({
    sources: ["api"],
    log: () => {},
    on: { "*": (event) => ran.push(event["id"]) },
  });
  const events = Array.from({ length: 10 }, (_, index) => ({ id: `${index}`, type: "paid" }));
  const accept = async (event: (typeof events)[number]) =>
    intake.accept({ source: "api", id: event.id, body: event });
  await Promise.all(events.slice(3).map(accept));
  const repair = () =>
    reconcile({
      receiver: intake,
      list: events,
      since: new Date(createdAt - hourMs),
      map: ({ id }) => ({ deliveryId: id, status: "failed", createdAt }),
      redeliver: async (_, event) => {
        const { code, status } = await accept(event);
        if (status >= 300) throw Object.assign(new Error(code), { status });
      },
    });
  expect(await repair()).toMatchObject({ missingCount: 3 });
  expect(await repair()).toMatchObject({ missingCount: 0 });
  expect(ran).toHaveLength(10);
});
