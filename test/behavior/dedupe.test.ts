import {
  createReceiver,
  memoryStore,
  type DedupeBy,
  type DeliveryContext,
  type DeliveryStore,
  type ReceiverOptions,
} from "@svc-webhooks/core";
import { fakeClock } from "@svc-webhooks/testing";
import { describe, expect, test } from "vitest";
import { eventBody, forgedSignature, signed, unsigned } from "@svc-webhooks/kit/deliveries";
import { gate } from "@svc-webhooks/kit/gate";
import {
  call,
  claimBy,
  heldHandler,
  observedReceiver,
  recordedStore,
  timedStore,
  week,
} from "@svc-webhooks/kit/receivers";
import { settled } from "@svc-webhooks/kit/settled";

/** Returns a signed delivery with this delivery id and this event id in its body. */
const event = (eventId: string, deliveryId = "dlv_1") =>
  signed(eventBody("email.sent", { id: eventId }), { "x-svc-delivery-id": deliveryId });

const byEvent: Partial<ReceiverOptions> = {
  dedupeBy: "event",
  eventId: ({ id }) => (typeof id === "string" ? id : undefined),
};

const signedKeys: readonly (readonly [DedupeBy, Partial<ReceiverOptions>])[] = [
  ["event", byEvent],
  ["body", { dedupeBy: "body" }],
];

const allKeys = [["delivery", {}] as const, ...signedKeys];

describe.each(signedKeys)("with dedupeBy %s", (_dedupeBy, options) => {
  test("trap 21: a captured delivery that is replayed under a forged id does not run", async () => {
    const { receive } = observedReceiver(options);
    expect(await receive(event("evt_1"))).toMatchObject({ code: "processed" });
    expect(await receive(event("evt_1", "dlv_forged"))).toMatchObject({
      code: "duplicate",
      warnings: ["other_delivery_id"],
    });
  });

  test("trap 22: a body that was sent under a future id does not make that event a duplicate", async () => {
    const { receiveAll } = observedReceiver(options);
    const future = event("evt_1", "dlv_2");
    expect(await receiveAll(event("evt_1"), future, event("evt_2", "dlv_2"))).toEqual([
      "processed",
      "duplicate",
      "processed",
    ]);
  });
});

test("trap 21: with dedupeBy delivery, a replay under a forged id runs again, as documented", async () => {
  const { receiveAll } = observedReceiver();
  const codes = await receiveAll(event("evt_1"), event("evt_1", "dlv_forged"));
  expect(codes).toEqual(["processed", "processed"]);
});

test("trap 22: with dedupeBy delivery, a future id can be occupied, as documented", async () => {
  const { receiveAll } = observedReceiver();
  const codes = await receiveAll(event("evt_1", "dlv_2"), event("evt_2", "dlv_2"));
  expect(codes).toEqual(["processed", "duplicate"]);
});

describe.each(allKeys)("with dedupeBy %s", (_dedupeBy, options) => {
  test.each([
    [undefined, "delivery_id_missing"],
    ["", "delivery_id_missing"],
    [" ", "delivery_id_malformed"],
    ["a b", "delivery_id_malformed"],
    ["é", "delivery_id_malformed"],
    ["\u0000", "delivery_id_malformed"],
    ["x".repeat(257), "delivery_id_malformed"],
  ])("trap 23: the delivery id %j does not bypass deduplication: %s", async (id, code) => {
    const { store, calls } = recordedStore();
    const { receive } = observedReceiver({ ...options, store });
    const headers = { "x-svc-delivery-id": id, "idempotency-key": "dlv_1" };
    const delivery = signed<string | undefined>(eventBody(), headers);
    expect(await receive(delivery)).toMatchObject({ code });
    expect(calls).toEqual([]);
  });

  test("trap 24: receivers with different names on one store do not share records", async () => {
    const store = memoryStore();
    for (const name of ["billing", "mailing"]) {
      const { receiveAll } = observedReceiver({ ...options, store, name });
      expect(await receiveAll(event("evt_1"), event("evt_1"))).toEqual(["processed", "duplicate"]);
    }
  });
});

test("trap 23: an event without an id does not bypass deduplication by event", async () => {
  const { store, calls } = recordedStore();
  const { receive, lines } = observedReceiver({ ...byEvent, store });
  const outcome = await receive(signed(eventBody(), { "x-svc-event-id": "evt_1" }));
  expect(outcome.code).toBe("misconfigured");
  expect(lines[0]).toContain("eventId");
  expect(calls).toEqual([]);
});

test("trap 24: a receiver whose name is a prefix of another's cannot reach that one's records", async () => {
  // The parts of the hashed text are separated by spaces, and names may contain spaces. Delivery ids may not, but
  // `forget` accepts any string.
  const store = memoryStore();
  const short = observedReceiver({ store, name: "billing" }).receiver;
  const long = observedReceiver({ store, name: "billing eu" });
  expect(await long.receiveAll(event("evt_1"))).toEqual(["processed"]);
  expect(await short.forget({ deliveryId: "eu dlv_1" })).toBe(false);
  expect(await long.receiveAll(event("evt_1"))).toEqual(["duplicate"]);
});

test.each(["", " ", ",", '","', '\\",\\"', ":", "/"])(
  "trap 24: moving %j between a type and an id gives another event",
  async (separator) => {
    const { receiveAll } = observedReceiver(byEvent);
    const inId = signed(eventBody("email", { id: `sent${separator}1` }));
    const inType = signed(eventBody(`email${separator}sent`, { id: "1" }));
    expect(await receiveAll(inId, inType)).toEqual(["processed", "processed"]);
  },
);

test("trap 24: a receiver on a shared store needs a name", () => {
  const store = { ...memoryStore(), shared: true };
  const build = () => createReceiver({ secret: "whsec_test", on: { "*": () => {} }, store });
  expect(build).toThrow(
    expect.objectContaining({ name: "ConfigError", code: "missing_name" }) as Error,
  );
});

test("trap 25: a delivery that is not verified never reaches the store", async () => {
  const { store, calls } = recordedStore();
  const { receiveAll } = observedReceiver({ store });
  for (const signature of [undefined, "sha256=00", forgedSignature]) {
    const delivery = unsigned<string | undefined>(eventBody(), { "x-svc-signature": signature });
    await receiveAll(Promise.resolve(delivery));
  }
  expect(calls).toEqual([]);
  expect(await receiveAll(signed())).toEqual(["processed"]);
});

test("trap 26: a process that dies with a claim blocks its delivery only until the lease ends", async () => {
  const { clock, store: shared } = timedStore();
  const { store, onlyKey } = recordedStore({}, shared);
  // This receiver simulates a dead process, so its clock stands still.
  void observedReceiver({ clock: fakeClock(), store, on: heldHandler().on }).receive();
  await settled();

  const runs: DeliveryContext[] = [];
  const heir = observedReceiver({ clock, store, on: { "*": (_event, ctx) => runs.push(ctx) } });
  clock.jump(29_999);
  expect(await heir.receive()).toMatchObject({ code: "in_flight", retryAfterMs: 1 });
  clock.jump(1);
  expect(await heir.receive()).toMatchObject({ code: "processed" });
  expect(runs).toMatchObject([{ run: 2 }]);

  clock.jump(week - 1);
  expect(await store.claim(onlyKey(), claimBy("later"), call)).toMatchObject({ status: "done" });
  clock.jump(1);
  expect(await store.claim(onlyKey(), claimBy("later"), call)).toMatchObject({ run: 1 });
});

test("trap 27: a copy gets no 2xx while the first one runs, and runs if the first one fails", async () => {
  const { clock, store } = timedStore();
  const fails = gate();
  const starts: unknown[] = [];
  const { receive } = observedReceiver({
    clock,
    store,
    on: {
      "*": (_event, { run }) => {
        starts.push(run);
        return run === 1 ? fails.opened : undefined;
      },
    },
  });
  const first = receive();
  await settled();
  expect(await receive()).toMatchObject({ code: "in_flight", status: 503 });

  await clock.advance(10_000);
  expect(await first).toMatchObject({ code: "handler_timeout", status: 503 });
  expect(await receive()).toMatchObject({ code: "in_flight", status: 503 });

  fails.fail(new Error("out of memory"));
  await settled();
  expect(await receive()).toMatchObject({ code: "processed" });
  expect(starts).toEqual([1, 2]);
});

test("trap 28: a failed handler is not recorded as done", async () => {
  const { receiveAll, handlerErrors } = observedReceiver({
    on: {
      "*": (_event, { run = 0 }) => {
        if (run < 3) throw new Error(`run ${run}`);
      },
    },
  });
  expect(await receiveAll(signed(), signed(), signed(), signed())).toEqual([
    "handler_failed",
    "handler_failed",
    "processed",
    "duplicate",
  ]);
  expect(handlerErrors).toMatchObject([{ message: "run 1" }, { message: "run 2" }]);
});

test("trap 29: a handler that fails after its lease was taken over does not affect the new run", async () => {
  const { clock, store } = timedStore();
  const [late, running] = [heldHandler(), heldHandler()];
  const old = observedReceiver({ clock: fakeClock(), store, on: late.on });
  const heir = observedReceiver({ clock, store, on: running.on });

  const first = old.receive();
  await late.started;
  clock.jump(30_000);
  const second = heir.receive();
  await running.started;
  late.fail(new Error("too late"));
  expect(await first).toMatchObject({ code: "handler_failed" });
  expect(await heir.receive()).toMatchObject({ code: "in_flight" });
  running.finish();
  expect(await second).toMatchObject({ code: "processed" });
});

test("trap 30: a completion that cannot be recorded is not treated as a failed handler", async () => {
  const { clock, store: working } = timedStore();
  let isDown = true;
  const complete: DeliveryStore["complete"] = (...args) =>
    isDown ? Promise.reject(new Error("down")) : working.complete(...args);
  const { store, operations } = recordedStore({ complete }, working);
  const runs: unknown[] = [];
  const { receive, internalErrors } = observedReceiver({
    clock,
    store,
    on: { "*": (_event, { run }) => runs.push(run) },
  });
  expect(await receive()).toMatchObject({
    code: "processed",
    status: 200,
    warnings: ["complete_failed"],
  });
  expect(internalErrors).toMatchObject([{ message: "down" }]);
  expect(await receive()).toMatchObject({ code: "in_flight" });

  isDown = false;
  await clock.advance(5_000);
  expect(await receive()).toMatchObject({ code: "duplicate" });
  expect(runs).toEqual([1]);
  expect(operations()).not.toContain("release");
});

test("trap 31: a record is kept for seven days, and retainMs cannot be shorter than a run may take", async () => {
  const clock = fakeClock();
  const { receiveAll } = observedReceiver({ clock });
  await receiveAll(signed());
  clock.jump(week - 1);
  expect(await receiveAll(signed())).toEqual(["duplicate"]);
  clock.jump(1);
  expect(await receiveAll(signed())).toEqual(["processed"]);

  const tooShort = () => observedReceiver({ retainMs: 900_000 + 30_000 - 1 });
  expect(tooShort).toThrow(expect.objectContaining({ option: "retainMs" }) as Error);
});

test("trap 32: a full memory store rejects a claim instead of dropping a running one, and the sender gets 503", async () => {
  const { clock, store } = timedStore({ maxRecords: 1 });
  void store.claim("running", claimBy("owner"), call);
  const { receiveAll } = observedReceiver({ clock, store });
  expect(await receiveAll(signed())).toEqual(["store_unavailable"]);
  expect(store.claim("running", claimBy("other"), call)).toMatchObject({ status: "busy" });
});

test("trap 32: the memory store sets no timers, and supports a retainMs above 2^31 - 1", async () => {
  const { clock, store } = timedStore();
  const month = 31 * 86_400_000;
  const { receiveAll } = observedReceiver({ clock, store, retainMs: month });
  await receiveAll(...Array.from({ length: 100 }, (_, index) => event("evt", `dlv_${index}`)));
  expect(clock.timers).toBe(0);
  clock.jump(month - 1);
  expect(await receiveAll(event("evt", "dlv_99"))).toEqual(["duplicate"]);
});

test("trap 33: a claim that is repeated with the same token is the same claim", () => {
  const store = memoryStore();
  const first = store.claim("key", claimBy("token"), call);
  expect(first).toMatchObject({ status: "claimed", run: 1 });
  expect(store.claim("key", claimBy("token"), call)).toEqual(first);
  expect(store.claim("key", claimBy("other"), call)).toMatchObject({ status: "busy" });
});

describe("trap 34: a handler that blocks the event loop for longer than its lease", () => {
  /** Runs a handler that blocks past its lease. `meanwhile` can take the delivery over in the meantime. */
  async function blocked(meanwhile: (store: DeliveryStore, key: string) => void = () => {}) {
    const { clock, store: working } = timedStore();
    const { store, onlyKey } = recordedStore({}, working);
    const { receive, reports } = observedReceiver({
      clock,
      store,
      on: {
        "*": async () => {
          await settled();
          clock.jump(31_000);
          meanwhile(store, onlyKey());
        },
      },
    });
    const { code } = await receive();
    const record = await store.claim(onlyKey(), claimBy("later"), call);
    return { code, record, reports };
  }

  test("still completes its record, and is reported as a lost lease", async () => {
    const { code, record, reports } = await blocked();
    expect({ code, record }).toMatchObject({ code: "processed", record: { status: "done" } });
    expect(reports).toMatchObject([{ code: "processed", warnings: ["lease_lost"] }]);
  });

  test("completes its record although another worker has taken over", async () => {
    const { code, record } = await blocked((store, key) => {
      expect(store.claim(key, claimBy("heir"), call)).toMatchObject({ status: "claimed", run: 2 });
    });
    expect({ code, record }).toMatchObject({ code: "processed", record: { status: "done" } });
  });

  test.each([
    ["before its first await", async (block: () => void) => block()],
    ["later", (block: () => void) => settled().then(block)],
  ])("%s has its signal aborted once the loop is free", async (_when, blockOnce) => {
    const clock = fakeClock();
    const reason = gate<unknown>();
    const { receive } = observedReceiver({
      clock,
      on: {
        "*": async (_event, { signal }) => {
          signal.addEventListener("abort", () => reason.open(signal.reason));
          await blockOnce(() => clock.jump(31_000));
          await reason.opened;
        },
      },
    });
    const outcome = receive();
    await settled();
    await settled();
    await clock.advance(1);
    expect(await reason.opened).toMatchObject({ code: "lease_lost" });
    expect((await outcome).warnings).toEqual(["lease_lost"]);
  });
});

describe("trap 35: a store that lost its records during a run", () => {
  /** Creates a store that `flush` empties while claims are held, as FLUSHALL or a failover would. */
  function forgetful() {
    const clock = fakeClock();
    let inner = memoryStore({ clock });
    const store: DeliveryStore = {
      shared: false,
      claim: (...args) => inner.claim(...args),
      complete: (...args) => inner.complete(...args),
      release: (...args) => inner.release(...args),
      extend: (...args) => inner.extend(...args),
      forget: (...args) => inner.forget(...args),
    };
    return { clock, store, flush: () => void (inner = memoryStore({ clock })) };
  }

  test("gets the record back when the run completes", async () => {
    const { store, flush } = forgetful();
    const { receiveAll, internalErrors } = observedReceiver({ store, on: { "*": flush } });
    expect(await receiveAll(signed(), signed())).toEqual(["processed", "duplicate"]);
    expect(internalErrors).toEqual([]);
  });

  test("lets the delivery run again after a failure", async () => {
    const { store, flush } = forgetful();
    let runs = 0;
    const { receiveAll, internalErrors } = observedReceiver({
      store,
      on: {
        "*": () => {
          flush();
          runs += 1;
          if (runs === 1) throw new Error("no");
        },
      },
    });
    expect(await receiveAll(signed(), signed())).toEqual(["handler_failed", "processed"]);
    expect(internalErrors).toEqual([]);
  });

  test("lets a processed delivery run once more at most, with a larger fence", async () => {
    const { clock, store, flush } = forgetful();
    const fences: (number | undefined)[] = [];
    const on = { "*": (_event: unknown, { fence }: DeliveryContext) => fences.push(fence) };
    const { receiveAll } = observedReceiver({ store, on });
    await receiveAll(signed());
    flush();
    clock.jump(1);
    expect(await receiveAll(signed(), signed())).toEqual(["processed", "duplicate"]);
    expect(fences).toHaveLength(2);
    expect(fences[1]).toBeGreaterThan(fences[0] ?? Infinity);
  });
});
