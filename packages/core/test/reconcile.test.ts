import { eventBody } from "@svc-webhooks/kit/deliveries";
import { settled } from "@svc-webhooks/kit/settled";
import { describe, expect, expectTypeOf, test } from "vitest";
import { memoryStore, PermanentError, type ForgetTarget, type Receiver } from "../src/index.js";
import {
  reconcile,
  type ListedDelivery,
  type ReconcileOptions,
  type ReconcileReport,
  type ServiceDelivery,
} from "../src/reconcile.js";
import { never, send, throwing, timed } from "./support.js";

const minute = 60_000;
const hour = 60 * minute;
const day = 24 * hour;

/** The time of the comparison. */
const nowMs = Date.UTC(2026, 10, 26, 12);
const clock = { now: () => nowMs };
const since = new Date(nowMs - 6 * day);

/** Returns a listed delivery of this age. */
const listed = (delivery_id: string, status: string, ageMs: number): ServiceDelivery => ({
  delivery_id,
  status,
  created_at: new Date(nowMs - ageMs).toISOString(),
});

/** A delivery from before `since`. */
const older = listed("dlv_older", "succeeded", 6 * day + 1);

/** Lists deliveries as a client that requests page after page. */
async function* paged<Item>(items: Iterable<Item>): AsyncGenerator<Item> {
  for (const item of items) {
    await Promise.resolve();
    yield item;
  }
}

/** A receiver with these records only, and the ids of each call of `peek`. */
function recordsOf(states: Readonly<Record<string, string>> = {}) {
  const batches: string[][] = [];
  const receiver: Pick<Receiver, "peek"> = {
    async peek(targets) {
      batches.push(targets.map(({ deliveryId }) => deliveryId));
      return targets.map(({ deliveryId }) => states[deliveryId] as never);
    },
  };
  return { receiver, batches };
}

type Given = Partial<ReconcileOptions<ServiceDelivery>>;

/** Compares a list with these records. */
const compare = (
  items: Iterable<ServiceDelivery>,
  states: Readonly<Record<string, string>> = {},
  options: Given = {},
): Promise<ReconcileReport> =>
  reconcile({ list: paged(items), receiver: recordsOf(states).receiver, since, clock, ...options });

/** Asserts that every delivery of a report was counted once. */
function expectWhole(report: ReconcileReport): void {
  const { sent, young, unknown, done, running, failed, parked, queued } = report;
  const rest = report.missingCount + report.lostCount;
  expect(young + unknown + done + running + failed + parked + queued + rest).toBe(sent);
}

/** Returns an error response of the service. */
const response = (status: number) => Object.assign(new Error(`HTTP ${status}`), { status });

const nothing = {
  sent: 0,
  young: 0,
  unknown: 0,
  done: 0,
  running: 0,
  failed: 0,
  parked: 0,
  queued: 0,
  missingCount: 0,
  missing: [],
  lostCount: 0,
  lost: [],
  reachedSince: false,
  redelivered: 0,
  skipped: 0,
  refused: 0,
};

test("reconcile counts each kind of delivery of a real receiver in its own field", async () => {
  const { receiver } = timed({
    on: {
      "*": (_, { deliveryId }) => {
        if (deliveryId === "dlv_parked") throw new PermanentError("no such customer");
        if (deliveryId === "dlv_failed") throw new Error("no");
        return deliveryId === "dlv_running" ? never() : undefined;
      },
    },
    onParked: () => {},
  });
  for (const id of ["done", "parked", "failed", "forgotten"]) {
    await send(receiver, eventBody(), { "x-svc-delivery-id": `dlv_${id}` });
  }
  void send(receiver, eventBody(), { "x-svc-delivery-id": "dlv_running" });
  await settled();
  expect(await receiver.forget({ deliveryId: "dlv_forgotten" })).toBe(true);

  const report = await reconcile({
    list: [
      listed("dlv_young", "pending", 15 * minute - 1),
      listed("dlv_unknown", "suspended", 15 * minute),
      listed("dlv_done", "succeeded", hour),
      listed("dlv_running", "attempting", 2 * hour),
      listed("dlv_failed", "failed", 3 * hour),
      listed("dlv_parked", "succeeded", 4 * hour),
      listed("dlv_queued", "succeeded", 5 * hour),
      listed("dlv_dropped", "failed", 6 * hour),
      listed("dlv_refused", "pending", 7 * hour),
      listed("dlv_forgotten", "succeeded", 6 * day),
      older,
      listed("dlv_oldest", "failed", 7 * day),
    ],
    receiver,
    since,
    clock,
    queued: (id) => id === "dlv_queued",
  });
  expect(report).toEqual({
    ...nothing,
    sent: 10,
    young: 1,
    unknown: 1,
    done: 1,
    running: 1,
    failed: 1,
    parked: 1,
    queued: 1,
    missingCount: 2,
    missing: ["dlv_dropped", "dlv_refused"],
    lostCount: 1,
    lost: ["dlv_forgotten"],
    oldestMissingAt: new Date(nowMs - 7 * hour),
    newestSentAt: new Date(nowMs - 15 * minute + 1),
    oldestSentAt: since,
    reachedSince: true,
  });
  expectWhole(report);
});

test("an empty list is reported as one, without a store call", async () => {
  const { receiver, batches } = recordsOf();
  expect(await reconcile({ list: [], receiver, since, clock })).toEqual(nothing);
  expect(batches).toEqual([]);
});

describe("a missing delivery", () => {
  const missing = [
    listed("dlv_3", "failed", hour),
    listed("dlv_2", "pending", 2 * hour),
    listed("dlv_1", "failed", 3 * hour),
    older,
  ];

  test("is only reported by default", async () => {
    const report = await compare(missing);
    expect(report).toMatchObject({ missingCount: 3, redelivered: 0, skipped: 0 });
  });

  test("is requested again, and done in the second comparison", async () => {
    const { receiver } = timed();
    const requested: unknown[] = [];
    const redeliver: Given["redeliver"] = async (id, item) => {
      requested.push(item);
      await send(receiver, eventBody(), { "x-svc-delivery-id": id });
    };
    const given = { receiver, since, clock, redeliver };
    expect(await reconcile({ ...given, list: missing })).toMatchObject({
      missingCount: 3,
      redelivered: 3,
      done: 0,
    });
    expect(requested).toEqual(missing.slice(0, 3));
    expect(await reconcile({ ...given, list: missing })).toMatchObject({
      missingCount: 0,
      redelivered: 0,
      done: 3,
    });
    expect(requested).toHaveLength(3);
  });

  test("counts as skipped on a 409", async () => {
    const redeliver = (id: string) => (id === "dlv_2" ? Promise.reject(response(409)) : undefined);
    const report = await compare(missing, {}, { redeliver });
    expect(report).toMatchObject({ missingCount: 3, redelivered: 2, skipped: 1 });
    expect(report).not.toHaveProperty("redeliverError");
  });

  test.each([
    ["rejects", () => Promise.reject(response(500))],
    ["throws", throwing(response(401))],
    ["is limited", throwing(response(429))],
    ["rejects with nothing", () => Promise.reject(undefined as never)],
  ])("is reported although redeliver %s, which ends the requests", async (_, redeliver) => {
    const calls: string[] = [];
    const report = await compare(
      missing,
      {},
      {
        redeliver(id) {
          calls.push(id);
          return redeliver();
        },
      },
    );
    expect(calls).toEqual(["dlv_3"]);
    expect(report).toMatchObject({ missingCount: 3, redelivered: 0, skipped: 0 });
    expect(report).toHaveProperty("redeliverError");
  });

  test.each([404, 410, 422])(
    "counts as refused on a %i, which ends no requests",
    async (status) => {
      const redeliver = (id: string) => {
        if (id === "dlv_3") throw response(status);
      };
      const report = await compare(missing, {}, { redeliver, maxRedeliver: 2 });
      expect(report).toMatchObject({ missingCount: 3, redelivered: 2, refused: 1 });
      expect(report).not.toHaveProperty("redeliverError");
    },
  );

  test.each([
    [0, []],
    [1, ["dlv_3", "dlv_2"]],
  ])(
    "is requested within maxRedeliver %i, which does not count skipped ones",
    async (max, expected) => {
      const calls: string[] = [];
      const report = await compare(
        missing,
        {},
        {
          maxRedeliver: max,
          redeliver(id) {
            calls.push(id);
            if (id === "dlv_3") throw response(409);
          },
        },
      );
      expect(calls).toEqual(expected);
      expect(report).toMatchObject({ missingCount: 3 });
    },
  );

  test("is requested at most 1,000 times by default", async () => {
    const items = Array.from({ length: 1_500 }, (_, at) =>
      listed(`dlv_${at}`, "failed", hour + at),
    );
    let calls = 0;
    const report = await compare(items, {}, { redeliver: () => (calls += 1) });
    expect(calls).toBe(1_000);
    expect(report).toMatchObject({ missingCount: 1_500, redelivered: 1_000 });
  });
});

test.each(["lost", "unknown", "young", "queued", "failed"])(
  "a delivery that is %s is never requested",
  async (kind) => {
    const item = {
      lost: listed("dlv_1", "succeeded", hour),
      unknown: listed("dlv_1", "paused", hour),
      young: listed("dlv_1", "failed", minute),
      queued: listed("dlv_1", "failed", hour),
      failed: listed("dlv_1", "failed", hour),
    }[kind];
    const calls: string[] = [];
    const report = await compare([item ?? older], kind === "failed" ? { dlv_1: "failed" } : {}, {
      queued: () => kind === "queued",
      redeliver: (id) => calls.push(id),
    });
    expect(calls).toEqual([]);
    expect(report).toMatchObject({ sent: 1, [kind === "lost" ? "lostCount" : kind]: 1 });
  },
);

test("the records of unknown and young deliveries are not read", async () => {
  const { receiver, batches } = recordsOf();
  const list = [listed("dlv_1", "failed", minute), listed("dlv_2", "constructor", hour)];
  const report = await reconcile({ list, receiver, since, clock });
  expect(report).toMatchObject({ young: 1, unknown: 1, missingCount: 0 });
  expect(batches).toEqual([]);
});

test("a job that runs while the queue is read is not reported as lost", async () => {
  const states: Record<string, string> = {};
  const list = [listed("dlv_1", "succeeded", hour), listed("dlv_2", "succeeded", hour)];
  const report = await compare(list, states, {
    // The job of dlv_1 is done just before the queue is read.
    queued(id) {
      if (id === "dlv_1") states["dlv_1"] = "done";
      return false;
    },
  });
  expect(report).toMatchObject({ done: 1, lost: ["dlv_2"] });
});

test("an acknowledged delivery whose run has failed is lost if no queue has its job", async () => {
  const list = ["dlv_1", "dlv_2", "dlv_3"].map((id) => listed(id, "succeeded", hour));
  const states: Record<string, string> = { dlv_1: "failed", dlv_2: "failed", dlv_3: "failed" };
  const report = await compare(list, states, {
    queued(id) {
      // Its job ends while the queue is read.
      if (id === "dlv_3") states[id] = "done";
      return id === "dlv_1";
    },
  });
  expect(report).toMatchObject({ queued: 1, lost: ["dlv_2"], done: 1, failed: 0 });
  expectWhole(report);
});

test("an acknowledged delivery whose run has failed is lost if there is no queue", async () => {
  const list = [listed("dlv_1", "succeeded", hour), listed("dlv_2", "failed", hour)];
  const report = await compare(list, { dlv_1: "failed", dlv_2: "failed" });
  expect(report).toMatchObject({ lost: ["dlv_1"], failed: 1, missingCount: 0 });
  expectWhole(report);
});

test("a delivery that the next page repeats is counted once", async () => {
  const [first, second, third] = [1, 2, 3].map((age) => listed(`dlv_${age}`, "failed", age * hour));
  const pages = [first, second, first, second, third].flatMap((item) => item ?? []);
  const calls: string[] = [];
  const report = await compare(pages, {}, { redeliver: (id) => calls.push(id) });
  expect(report).toMatchObject({ sent: 3, missing: ["dlv_1", "dlv_2", "dlv_3"], redelivered: 3 });
  expect(calls).toEqual(["dlv_1", "dlv_2", "dlv_3"]);
});

describe("a list that is read by offset, with more new deliveries than a page holds", () => {
  /** Deliveries that are one second apart, by their ages in seconds. */
  const rows = (newest: number, oldest: number) =>
    Array.from({ length: oldest - newest }, (_, at) =>
      listed(`dlv_${newest + at}`, "failed", hour + (newest + at) * 1_000),
    );

  test.each([
    ["1,500 earlier ones again", [...rows(0, 2_000), ...rows(500, 2_500)]],
    [
      "1,500 earlier ones again, in the middle of which it moves again",
      [...rows(0, 2_000), ...rows(500, 900), ...rows(200, 2_500)],
    ],
    [
      "deliveries that were created during the walk, and all earlier ones",
      [...rows(0, 2_000), listed("dlv_new", "pending", -1_000), ...rows(0, 2_500)],
    ],
  ])("counts each delivery once if it returns %s", async (_, list) => {
    const calls: string[] = [];
    const report = await compare(
      [...list, older],
      {},
      { redeliver: (id) => calls.push(id), maxRedeliver: 5_000 },
    );
    expect(report).toMatchObject({ sent: 2_500, missingCount: 2_500, redelivered: 2_500 });
    expect(new Set(calls).size).toBe(2_500);
  });

  test.each([0.02, 10])(
    "counts each delivery once if the sender's clock is %d minutes behind",
    async (minutes) => {
      // The receiver's clock cannot show that these were created during the walk.
      const created = ["dlv_new_2", "dlv_new_1"].map((id) =>
        listed(id, "pending", minutes * 60_000),
      );
      const report = await compare([...rows(0, 2_000), ...created, ...rows(0, 2_500), older]);
      expect(report).toMatchObject({ sent: 2_500, missingCount: 2_500 });
    },
  );

  test.each([
    [
      "repeats others after older ones that it has not listed",
      [...rows(500, 1_000), ...rows(0, 1), ...rows(500, 1_100)],
    ],
  ])("is refused if it %s", async (_, list) => {
    await expect(compare(list)).rejects.toMatchObject({ code: "not_newest_first" });
  });

  test.each([
    [
      "skips deliveries after it repeats others",
      [...rows(0, 2_000), ...rows(500, 900), ...rows(2_500, 2_600)],
    ],
    ["ends while it repeats others", [...rows(0, 2_000), ...rows(500, 900)]],
  ])("is refused if it %s", async (_, list) => {
    await expect(compare(list)).rejects.toMatchObject({
      code: "not_newest_first",
      message: expect.stringContaining("dlv_500 is newer") as string,
    });
  });
});

test.each([
  ["graceMs", { graceMs: hour }, 2],
  ["15 minutes", {}, 1],
  ["0", { graceMs: 0 }, 0],
])("deliveries younger than %s are not judged", async (_, options, young) => {
  const list = [
    listed("dlv_1", "failed", 1),
    listed("dlv_2", "failed", hour - 1),
    listed("dlv_3", "failed", hour),
  ];
  expect(await compare(list, {}, options)).toMatchObject({ young, missingCount: 3 - young });
});

describe("the end of the walk", () => {
  test("comes one delivery behind since, and closes the list", async () => {
    const read: string[] = [];
    let isClosed = false;
    async function* list() {
      try {
        for (const item of [
          listed("dlv_1", "failed", hour),
          older,
          listed("dlv_older_2", "failed", 7 * day),
          listed("dlv_older_3", "failed", 8 * day),
        ]) {
          read.push(item.delivery_id);
          yield item;
        }
      } finally {
        isClosed = true;
      }
    }
    const { receiver } = recordsOf();
    const report = await reconcile({ list: list(), receiver, since, clock });
    expect(read).toEqual(["dlv_1", "dlv_older", "dlv_older_2"]);
    expect(isClosed).toBe(true);
    expect(report).toMatchObject({ sent: 1, reachedSince: true });
  });

  test("before since is reported", async () => {
    const list = [listed("dlv_2", "failed", hour), listed("dlv_1", "succeeded", 2 * day)];
    expect(await compare(list)).toMatchObject({
      sent: 2,
      reachedSince: false,
      oldestSentAt: new Date(nowMs - 2 * day),
    });
  });

  test("reports when the newest delivery was sent, even from before since", async () => {
    expect(await compare([older])).toMatchObject({
      sent: 0,
      reachedSince: true,
      newestSentAt: new Date(nowMs - 6 * day - 1),
    });
  });
});

describe("a list that is not newest first", () => {
  const [first, second] = [listed("dlv_1", "failed", 2 * hour), listed("dlv_2", "failed", hour)];

  test.each([
    ["is oldest first", [first, second]],
    ["is oldest first and begins before since", [older, second]],
    ["is oldest first and begins with equal times before since", [older, older, second]],
    ["has one delivery in the wrong place", [second, first, listed("dlv_3", "failed", hour)]],
  ])("is refused if it %s", async (_, items) => {
    const calls: string[] = [];
    const compared = compare(items, {}, { redeliver: (id) => calls.push(id) });
    await expect(compared).rejects.toMatchObject({
      name: "WebhookError",
      code: "not_newest_first",
      message: expect.stringContaining("newest first") as string,
    });
    expect(calls).toEqual([]);
  });

  test("is accepted if equal times are in any order", async () => {
    const list = [listed("dlv_1", "failed", hour), listed("dlv_2", "failed", hour)];
    expect(await compare(list)).toMatchObject({ missingCount: 2 });
  });
});

test.each<[string, unknown]>([
  ["nothing", undefined],
  ["null", null],
  ["text", "dlv_1"],
  ["no id", { status: "failed", created_at: "2026-11-26T00:00:00Z" }],
  ["an id that is a number", { ...older, delivery_id: 7 }],
  ["no status", { ...older, status: undefined }],
  ["no time", { ...older, created_at: undefined }],
  ["a time that is not one", { ...older, created_at: "yesterday" }],
  // A list in seconds would end the walk at its first delivery, as if everything were well.
  ["a time in seconds", { ...older, created_at: nowMs / 1_000 }],
  ["a time in microseconds", { ...older, created_at: nowMs * 1_000 }],
  ["a time that is an object", { ...older, created_at: { toString: 1, valueOf: 1 } }],
  ["a date in the order of the US", { ...older, created_at: "11-25-2026" }],
  ["a time without an offset", { ...older, created_at: "2026-11-26T00:00:00" }],
])("a list with %s is refused", async (_, item) => {
  const compared = reconcile({
    list: [item],
    receiver: recordsOf().receiver,
    since,
    clock,
    map(one) {
      const { delivery_id, status, created_at } = Object(one) as ServiceDelivery;
      return { deliveryId: delivery_id, status, createdAt: created_at };
    },
  });
  const error = { name: "WebhookError", code: "unreadable_list" };
  await expect(compared).rejects.toMatchObject(error);
});

test.each([null, undefined, 7, "dlv_1"])("without map, a list with %j is refused", async (item) => {
  const compared = compare([item as never], {});
  await expect(compared).rejects.toMatchObject({ code: "unreadable_list" });
});

test("a map that returns nothing is refused", async () => {
  const compared = compare([older], {}, { map: () => undefined as never });
  await expect(compared).rejects.toMatchObject({ code: "unreadable_list" });
});

test("map reads the list of another sender, whose body reaches peek", async () => {
  const seen: ForgetTarget[] = [];
  const body = new Uint8Array([1]);
  const list = [{ id: 7, ok: false, at: nowMs - hour, body }];
  const requested: unknown[] = [];
  const report = await reconcile({
    list,
    receiver: {
      peek: async (targets) => {
        seen.push(...targets);
        return targets.map(() => undefined);
      },
    },
    since,
    clock,
    map: ({ id, ok, at, body: bytes }) => ({
      deliveryId: String(id),
      status: ok ? "succeeded" : "failed",
      createdAt: at,
      body: bytes,
    }),
    redeliver: (_id, item) => requested.push(item.id),
  });
  expect(report).toMatchObject({ missing: ["7"] });
  expect(seen).toMatchObject([{ deliveryId: "7", body }]);
  expect(requested).toEqual([7]);
});

test("map is required for items that are not those of the service", () => {
  const given = { list: [{ id: 7 }], receiver: recordsOf().receiver, since };
  // @ts-expect-error the items have no delivery_id
  void reconcile(given).catch(() => {});
  expectTypeOf<ReconcileOptions<{ id: number }>["map"]>().toEqualTypeOf<
    ((item: { id: number }) => ListedDelivery) | undefined
  >();
});

describe("a long list", () => {
  function* many(count: number, status: string) {
    for (let at = 0; at < count; at += 1) yield listed(`dlv_${at}`, status, hour + at);
  }

  test("of 100,000 deliveries needs 100 store calls, of 1,000 records each", async () => {
    const { receiver, batches } = recordsOf();
    const report = await reconcile({ list: many(100_000, "failed"), receiver, since, clock });
    expect(batches.map(({ length }) => length)).toEqual(Array(100).fill(1_000));
    expect(report).toMatchObject({ sent: 100_000, missingCount: 100_000 });
    // The lists stay bounded, and keep the newest.
    expect(report.missing).toHaveLength(10_000);
    expect(report.missing.at(-1)).toBe("dlv_9999");
    expect(report.oldestMissingAt).toEqual(new Date(nowMs - hour - 99_999));
    expectWhole(report);
  });

  test("of lost deliveries stays bounded too", async () => {
    const report = await compare(many(10_001, "succeeded"));
    expect(report.lostCount).toBe(10_001);
    expect(report.lost).toHaveLength(10_000);
  });

  test("reports its progress after each 1,000 deliveries, and awaits it", async () => {
    const { receiver, batches } = recordsOf();
    const seen: unknown[] = [];
    await reconcile({
      list: many(2_500, "failed"),
      receiver,
      since,
      clock,
      async onProgress(progress) {
        await settled();
        seen.push(progress, batches.length);
      },
    });
    expect(seen).toEqual([
      { sent: 1_000, at: new Date(nowMs - hour - 999) },
      1,
      { sent: 2_000, at: new Date(nowMs - hour - 1_999) },
      2,
    ]);
    expect(batches).toHaveLength(3);
  });

  test("can be ended by onProgress", async () => {
    const { receiver, batches } = recordsOf();
    const list = many(5_000, "failed");
    const given = { list, receiver, since, clock, onProgress: throwing(new Error("stop")) };
    await expect(reconcile(given)).rejects.toThrow("stop");
    expect(batches).toHaveLength(1);
  });
});

test.each<[string, Readonly<Record<string, unknown>>]>([
  ["since", { since: undefined }],
  ["since", { since: "7d" }],
  ["since", { since: new Date(Number.NaN) }],
  ["since", { since: nowMs / 1_000 }],
  ["since", { since: new Date(nowMs + 1) }],
  ["graceMs", { graceMs: -1 }],
  ["graceMs", { graceMs: null }],
  ["graceMs", { graceMs: "5" }],
  ["graceMs", { graceMs: "15m" }],
  ["maxRedeliver", { maxRedeliver: -1 }],
  ["maxRedeliver", { maxRedeliver: Number.NaN }],
  ["receiver", { receiver: undefined }],
  ["receiver", { receiver: {} }],
  ["receiver", { receiver: memoryStore() }],
  ["list", { list: undefined }],
  ["map", { map: null }],
  ["queued", { queued: new Set() }],
  ["redeliver", { redeliver: true }],
  ["onProgress", { onProgress: {} }],
  ["clock", { clock: {} }],
])("a wrong %s is refused before the list is read: %j", async (option, wrong) => {
  let isRead = false;
  function* list() {
    isRead = true;
    yield older;
  }
  const given = { list: list(), receiver: recordsOf().receiver, since, clock, ...wrong };
  await expect(reconcile(given as ReconcileOptions<ServiceDelivery>)).rejects.toMatchObject({
    name: "ConfigError",
    code: "invalid_option",
    option,
  });
  expect(isRead).toBe(false);
});

test("reconcile refuses to run without options", async () => {
  await expect(reconcile(undefined as never)).rejects.toMatchObject({
    code: "invalid_option",
    option: "options",
  });
});

test("a delivery that was created days after the time of this machine names the clock", async () => {
  await expect(compare([listed("dlv_1", "failed", -day - 1)])).rejects.toMatchObject({
    name: "WebhookError",
    code: "clock_behind",
    message: expect.stringMatching(/^dlv_1 was created .*Set this machine's clock/) as string,
  });
  expect(await compare([listed("dlv_1", "failed", -day)])).toMatchObject({ young: 1 });
});

test.each(["2026-11-25T23:59:60Z", "2026-11-26 08:59:60.5+09:00"])(
  "the leap second %s is the end of its minute",
  async (created_at) => {
    const after = { ...older, delivery_id: "dlv_after", created_at: "2026-11-26T00:00:00Z" };
    const before = { ...older, delivery_id: "dlv_before", created_at: "2026-11-25T23:59:59.9Z" };
    const report = await compare([after, { ...older, created_at }, before]);
    expect(report).toMatchObject({ sent: 3, lostCount: 3 });
  },
);

test("a time as PostgreSQL prints it is accepted", async () => {
  const item = { ...older, created_at: "2026-11-26 11:00:00.000000+00" };
  expect(await compare([item])).toMatchObject({ sent: 1, lostCount: 1 });
});

test.each<[string, Given]>([
  ["the list", { list: failing() }],
  ["peek", { receiver: { peek: () => Promise.reject(new Error("unreachable")) } }],
  ["map", { map: throwing(new Error("unreachable")) }],
  ["queued", { queued: () => Promise.reject(new Error("unreachable")) }],
])("reconcile rejects with the error of %s", async (_, options) => {
  await expect(compare([listed("dlv_1", "failed", hour)], {}, options)).rejects.toThrow(
    "unreachable",
  );
});

async function* failing(): AsyncGenerator<ServiceDelivery> {
  yield listed("dlv_1", "failed", hour);
  throw new Error("unreachable");
}

test.each(["redelivr", "admin"])("reconcile refuses the unknown option %s", async (name) => {
  const { receiver, batches } = recordsOf();
  const given = { list: [listed("dlv_1", "failed", hour)], receiver, since, clock, [name]: 1 };
  await expect(reconcile(given)).rejects.toMatchObject({
    name: "ConfigError",
    code: "unknown_option",
    option: name,
  });
  expect(batches).toEqual([]);
});

describe.each(["event", "body"] as const)("a receiver with dedupeBy %s", (dedupeBy) => {
  const options = { dedupeBy, eventId: ({ id }: { readonly id?: unknown }) => String(id) };
  const body = eventBody("email.sent", { id: "evt_1" });
  const items = [listed("dlv_1", "succeeded", hour)];

  test("needs the bodies, and nothing is requested without them", async () => {
    const { receiver } = timed(options);
    await send(receiver, body, { "x-svc-delivery-id": "dlv_1" });
    const calls: string[] = [];
    const list = [...items, listed("dlv_0", "failed", hour)];
    const compared = compare(list, {}, { receiver, redeliver: (id) => calls.push(id) });
    await expect(compared).rejects.toMatchObject({
      name: "WebhookError",
      code: "missing_body",
      message: expect.stringContaining("Return `body` from `map`") as string,
      cause: { option: "body" },
    });
    expect(calls).toEqual([]);
  });

  test("finds the records with the bodies that map returns", async () => {
    const { receiver } = timed(options);
    await send(receiver, body, { "x-svc-delivery-id": "dlv_1" });
    const map = ({ delivery_id, status, created_at }: ServiceDelivery) => ({
      deliveryId: delivery_id,
      status,
      createdAt: created_at,
      body: new TextEncoder().encode(body),
    });
    expect(await compare(items, {}, { receiver, map })).toMatchObject({ done: 1, lostCount: 0 });
  });
});

test("the default clock is the system's", async () => {
  const list = [{ ...older, created_at: new Date(Date.now() - 16 * minute).toISOString() }];
  const { receiver } = recordsOf();
  const report = await reconcile({ list, receiver, since: new Date(Date.now() - day) });
  expect(report).toMatchObject({ young: 0, lostCount: 1 });
});
