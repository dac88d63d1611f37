import {
  createReceiver,
  memoryStore,
  ReceiverConfigError,
  type DedupeBy,
  type DeliveryContext,
  type DeliveryStore,
  type ReceiverOptions,
} from "@svc-webhooks/core";
import { fakeClock } from "@svc-webhooks/testing";
import { describe, expect, test } from "vitest";
import { eventBody, forgedSignature, signed, unsigned } from "@svc-webhooks/kit/deliveries";
import { gate } from "@svc-webhooks/kit/gate";
import { call, claimBy, observedReceiver, recordedStore, week } from "@svc-webhooks/kit/receivers";
import { settled } from "@svc-webhooks/kit/settled";

/** A delivery with this delivery id, whose body has this event id. */
const event = (eventId: string, deliveryId: string) =>
  signed(eventBody("email.sent", { id: eventId }), { "x-svc-delivery-id": deliveryId });

const byEvent: Partial<ReceiverOptions> = {
  dedupeBy: "event",
  eventId: ({ id }) => (typeof id === "string" ? id : undefined),
};

const signedKeys: readonly (readonly [DedupeBy, Partial<ReceiverOptions>])[] = [
  ["event", byEvent],
  ["body", { dedupeBy: "body" }],
];

describe.each(signedKeys)("with dedupeBy %s", (_dedupeBy, options) => {
  test("trap 21: a captured delivery that is replayed under a forged id does not run", async () => {
    const { receiver } = observedReceiver(options);
    expect((await receiver.receive(await event("evt_1", "dlv_1"))).code).toBe("processed");
    expect(await receiver.receive(await event("evt_1", "dlv_forged"))).toMatchObject({
      code: "duplicate",
      warnings: ["other_delivery_id"],
    });
  });

  test("trap 22: a body that was sent under a future id does not make that event a duplicate", async () => {
    const { receiver } = observedReceiver(options);
    expect((await receiver.receive(await event("evt_1", "dlv_1"))).code).toBe("processed");
    expect((await receiver.receive(await event("evt_1", "dlv_2"))).code).toBe("duplicate");
    expect((await receiver.receive(await event("evt_2", "dlv_2"))).code).toBe("processed");
  });
});

test("trap 21: with dedupeBy delivery, a replay under a forged id runs again, as documented", async () => {
  const { receiver } = observedReceiver();
  expect((await receiver.receive(await event("evt_1", "dlv_1"))).code).toBe("processed");
  expect((await receiver.receive(await event("evt_1", "dlv_forged"))).code).toBe("processed");
});

test("trap 22: with dedupeBy delivery, a future id can be occupied, as documented", async () => {
  const { receiver } = observedReceiver();
  expect((await receiver.receive(await event("evt_1", "dlv_2"))).code).toBe("processed");
  expect((await receiver.receive(await event("evt_2", "dlv_2"))).code).toBe("duplicate");
});

test("trap 23: a delivery without a valid id does not bypass deduplication", async () => {
  const runs: string[] = [];
  const { store, calls } = recordedStore();
  for (const dedupe of [{}, ...signedKeys.map(([, options]) => options)]) {
    const { receiver } = observedReceiver({
      ...dedupe,
      store,
      on: { "*": ({ type }) => runs.push(type) },
    });
    for (const [id, code] of [
      [undefined, "delivery_id_missing"],
      ["", "delivery_id_missing"],
      [" ", "delivery_id_malformed"],
      ["a b", "delivery_id_malformed"],
      ["é", "delivery_id_malformed"],
      ["\u0000", "delivery_id_malformed"],
      ["x".repeat(257), "delivery_id_malformed"],
    ] as const) {
      const headers = { "x-svc-delivery-id": id, "idempotency-key": "dlv_1" };
      expect((await receiver.receive(await signed(eventBody(), headers))).code).toBe(code);
    }
  }
  expect(runs).toEqual([]);
  expect(calls).toEqual([]);
});

test("trap 23: an event without an id does not bypass deduplication by event", async () => {
  const { store, calls } = recordedStore();
  const { receiver, lines } = observedReceiver({ ...byEvent, store });
  const outcome = await receiver.receive(await signed(eventBody(), { "x-svc-event-id": "evt_1" }));
  expect(outcome.code).toBe("misconfigured");
  expect(lines[0]).toContain("eventId");
  expect(calls).toEqual([]);
});

test("trap 24: receivers with different names on one store do not share records", async () => {
  const store = memoryStore();
  for (const dedupe of [{}, ...signedKeys.map(([, options]) => options)]) {
    for (const name of ["billing", "mailing"]) {
      const { receiver } = observedReceiver({ ...dedupe, store, name });
      expect((await receiver.receive(await event("evt_1", "dlv_1"))).code).toBe("processed");
      expect((await receiver.receive(await event("evt_1", "dlv_1"))).code).toBe("duplicate");
    }
  }
});

test("trap 24: a receiver whose name is a prefix of another's cannot reach that one's records", async () => {
  // The hashed text has spaces between its parts, and names may contain spaces. Delivery ids may
  // not, but `forget` accepts any string.
  const store = memoryStore();
  const short = observedReceiver({ store, name: "billing" }).receiver;
  const long = observedReceiver({ store, name: "billing eu" }).receiver;
  expect((await long.receive(await event("evt_1", "dlv_1"))).code).toBe("processed");
  expect(await short.forget({ deliveryId: "eu dlv_1" })).toBe(false);
  expect((await long.receive(await event("evt_1", "dlv_1"))).code).toBe("duplicate");
});

test("trap 24: moving characters between a type and an id gives another event", async () => {
  const { receiver } = observedReceiver(byEvent);
  for (const separator of ["", " ", ",", '","', '\\",\\"', ":", "/"]) {
    for (const [type, id] of [
      ["email", `sent${separator}1`],
      [`email${separator}sent`, "1"],
    ]) {
      const delivery = await signed(eventBody(type, { id }));
      expect((await receiver.receive(delivery)).code).toBe("processed");
    }
  }
});

test("trap 24: a receiver on a shared store needs a name", () => {
  const shared = { ...memoryStore(), shared: true };
  const build = () =>
    createReceiver({ secret: "whsec_test", on: { "*": () => {} }, store: shared });
  expect(build).toThrow(ReceiverConfigError);
  expect(build).toThrow(expect.objectContaining({ code: "missing_name" }) as Error);
});

test("trap 25: a delivery that is not verified never reaches the store", async () => {
  const { store, calls } = recordedStore();
  const { receiver } = observedReceiver({ store });
  await receiver.receive(unsigned());
  await receiver.receive(unsigned(eventBody(), { "x-svc-signature": "sha256=00" }));
  await receiver.receive(unsigned(eventBody(), { "x-svc-signature": forgedSignature }));
  expect(calls).toEqual([]);
  expect((await receiver.receive(await signed())).code).toBe("processed");
});

test("trap 26: a process that dies with a claim blocks its delivery only until the lease ends", async () => {
  const clock = fakeClock();
  const { store, onlyKey } = recordedStore({}, memoryStore({ clock }));
  const finish = gate();
  const dying = observedReceiver({
    clock: fakeClock(),
    store,
    on: { "*": () => finish.opened },
  });
  void dying.receiver.receive(await signed());
  await settled();

  const runs: DeliveryContext[] = [];
  const heir = observedReceiver({ clock, store, on: { "*": (_event, ctx) => runs.push(ctx) } });
  clock.jump(29_999);
  expect(await heir.receiver.receive(await signed())).toMatchObject({
    code: "in_flight",
    retryAfterMs: 1,
  });
  clock.jump(1);
  expect((await heir.receiver.receive(await signed())).code).toBe("processed");
  expect(runs).toMatchObject([{ run: 2 }]);

  clock.jump(week - 1);
  expect(await store.claim(onlyKey(), claimBy("later"), call)).toMatchObject({ status: "done" });
  clock.jump(1);
  expect(await store.claim(onlyKey(), claimBy("later"), call)).toMatchObject({ run: 1 });
});

test("trap 27: a copy gets no 2xx while the first one runs, and runs if the first one fails", async () => {
  const clock = fakeClock();
  const fails = gate();
  const starts: unknown[] = [];
  const { receiver } = observedReceiver({
    clock,
    store: memoryStore({ clock }),
    on: {
      "*": (_event, { run }) => {
        starts.push(run);
        return run === 1 ? fails.opened : undefined;
      },
    },
  });
  const first = receiver.receive(await signed());
  await settled();
  expect(await receiver.receive(await signed())).toMatchObject({ code: "in_flight", status: 503 });

  await clock.advance(10_000);
  expect(await first).toMatchObject({ code: "handler_timeout", status: 503 });
  expect(await receiver.receive(await signed())).toMatchObject({ code: "in_flight", status: 503 });

  fails.fail(new Error("out of memory"));
  await settled();
  expect((await receiver.receive(await signed())).code).toBe("processed");
  expect(starts).toEqual([1, 2]);
});

test("trap 28: a failed handler is not recorded as done", async () => {
  let runs = 0;
  const { receiver, handlerErrors } = observedReceiver({
    on: {
      "*": () => {
        runs += 1;
        if (runs < 3) throw new Error(`run ${runs}`);
      },
    },
  });
  expect((await receiver.receive(await signed())).code).toBe("handler_failed");
  expect((await receiver.receive(await signed())).code).toBe("handler_failed");
  expect((await receiver.receive(await signed())).code).toBe("processed");
  expect((await receiver.receive(await signed())).code).toBe("duplicate");
  expect(handlerErrors).toMatchObject([{ message: "run 1" }, { message: "run 2" }]);
});

test("trap 29: an owner whose lease was taken over cannot release the new owner's claim", async () => {
  const clock = fakeClock();
  const store = memoryStore({ clock });
  void store.claim("key", claimBy("old"), call);
  clock.jump(30_000);
  expect(store.claim("key", claimBy("new"), call)).toMatchObject({ status: "claimed", run: 2 });

  for (const to of ["failed", "parked", "unused"] as const) {
    expect(store.release("key", { ...claimBy("old"), to }, call)).toBe(false);
  }
  expect(store.extend("key", claimBy("old"), call)).toBe(false);
  expect(store.forget("key", call)).toBe(false);
  expect(store.claim("key", claimBy("third"), call)).toEqual({
    status: "busy",
    leaseLeftMs: 30_000,
  });
});

test("trap 29: a handler that fails after its lease was taken over does not affect the new run", async () => {
  const frozen = fakeClock();
  const clock = fakeClock();
  const store = memoryStore({ clock });
  const [fails, finishes] = [gate(), gate()];
  const old = observedReceiver({ clock: frozen, store, on: { "*": () => fails.opened } });
  const heir = observedReceiver({ clock, store, on: { "*": () => finishes.opened } });

  const first = old.receiver.receive(await signed());
  await settled();
  clock.jump(30_000);
  const second = heir.receiver.receive(await signed());
  await settled();
  fails.fail(new Error("too late"));
  expect((await first).code).toBe("handler_failed");
  expect((await heir.receiver.receive(await signed())).code).toBe("in_flight");
  finishes.open();
  expect((await second).code).toBe("processed");
});

test("trap 30: a completion that cannot be recorded is not treated as a failed handler", async () => {
  const clock = fakeClock();
  const inner = memoryStore({ clock });
  let down = true;
  const { store, operations } = recordedStore(
    {
      complete: (key, request, storeCall) =>
        down ? Promise.reject(new Error("down")) : inner.complete(key, request, storeCall),
    },
    inner,
  );
  let runs = 0;
  const { receiver, internalErrors } = observedReceiver({
    clock,
    store,
    on: { "*": () => void (runs += 1) },
  });
  expect(await receiver.receive(await signed())).toMatchObject({
    code: "processed",
    status: 200,
    warnings: ["complete_failed"],
  });
  expect(internalErrors).toMatchObject([{ message: "down" }]);
  expect((await receiver.receive(await signed())).code).toBe("in_flight");

  down = false;
  await clock.advance(5_000);
  expect((await receiver.receive(await signed())).code).toBe("duplicate");
  expect(runs).toBe(1);
  expect(operations()).not.toContain("release");
});

test("trap 31: a record is kept for seven days, and retainMs cannot be shorter than a run may take", async () => {
  const clock = fakeClock();
  const { receiver } = observedReceiver({ clock });
  await receiver.receive(await signed());
  clock.jump(week - 1);
  expect((await receiver.receive(await signed())).code).toBe("duplicate");
  clock.jump(1);
  expect((await receiver.receive(await signed())).code).toBe("processed");

  const tooShort = () => observedReceiver({ retainMs: 900_000 + 30_000 - 1 });
  expect(tooShort).toThrow(expect.objectContaining({ option: "retainMs" }) as Error);
});

describe("trap 32: a full memory store", () => {
  const full = (records: number) => {
    const clock = fakeClock();
    const store = memoryStore({ clock, maxRecords: records });
    const settle: Record<string, (key: string) => unknown> = {
      done: (key) => store.complete(key, claimBy(key), call),
      failed: (key) => store.release(key, { ...claimBy(key), to: "failed" }, call),
      parked: (key) => store.release(key, { ...claimBy(key), to: "parked" }, call),
      running: () => undefined,
    };
    const put = (state: keyof typeof settle) => {
      void store.claim(state, claimBy(state), call);
      settle[state]?.(state);
    };
    return { clock, store, put };
  };

  test("drops done, then failed, then parked, then running records whose lease has ended", () => {
    const { clock, store, put } = full(4);
    for (const state of ["running", "parked", "failed", "done"]) put(state);
    clock.jump(30_000);
    for (const newcomer of ["1", "2", "3", "4"]) {
      expect(store.claim(newcomer, claimBy(newcomer), call)).toMatchObject({ evictedEarly: true });
    }
    for (const newcomer of ["1", "2", "3", "4"]) {
      expect(store.claim(newcomer, claimBy("other"), call)).toMatchObject({ status: "busy" });
    }
  });

  test("drops the done record first, although it is the newest", () => {
    const { store, put } = full(4);
    for (const state of ["running", "parked", "failed", "done"]) put(state);
    void store.claim("newcomer", claimBy("newcomer"), call);
    expect(store.claim("parked", claimBy("x"), call)).toMatchObject({ status: "parked" });
    expect(store.claim("failed", claimBy("x"), call)).toMatchObject({ status: "claimed", run: 2 });
    expect(store.claim("running", claimBy("x"), call)).toMatchObject({ status: "busy" });
  });

  test("rejects a claim instead of dropping a running one, and the sender gets 503", async () => {
    const { clock, store, put } = full(1);
    put("running");
    const { receiver } = observedReceiver({ clock, store });
    expect(await receiver.receive(await signed())).toMatchObject({ code: "store_unavailable" });
    expect(store.claim("running", claimBy("other"), call)).toMatchObject({ status: "busy" });
  });

  test("reports a record that it dropped before the end of retainMs", async () => {
    const { clock, store, put } = full(1);
    put("done");
    const { receiver } = observedReceiver({ clock, store });
    expect((await receiver.receive(await signed())).warnings).toEqual(["evicted_early"]);
  });
});

test("trap 32: the memory store sets no timers, and supports a retainMs above 2^31 - 1", async () => {
  const clock = fakeClock();
  const store = memoryStore({ clock });
  const month = 31 * 86_400_000;
  const { receiver } = observedReceiver({ clock, store, retainMs: month });
  for (let index = 0; index < 100; index += 1) {
    await receiver.receive(await event("evt", `dlv_${index}`));
  }
  expect(clock.timers).toBe(0);
  clock.jump(month - 1);
  expect((await receiver.receive(await event("evt", "dlv_99"))).code).toBe("duplicate");
});

test("trap 33: a claim that is repeated with the same token is the same claim", () => {
  const store = memoryStore();
  const first = store.claim("key", claimBy("token"), call);
  expect(first).toMatchObject({ status: "claimed", run: 1 });
  expect(store.claim("key", claimBy("token"), call)).toEqual(first);
  expect(store.claim("key", claimBy("other"), call)).toMatchObject({ status: "busy" });
});

describe("trap 34: a handler that blocks the event loop for longer than its lease", () => {
  /** Runs a handler that blocks past its lease; `meanwhile` may take the delivery over. */
  async function blocked(meanwhile: (store: DeliveryStore, key: string) => void) {
    const clock = fakeClock();
    const { store, onlyKey } = recordedStore({}, memoryStore({ clock }));
    const { receiver, reports } = observedReceiver({
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
    const outcome = await receiver.receive(await signed());
    const record = await store.claim(onlyKey(), claimBy("later"), call);
    return { outcome, record, reports };
  }

  test("still completes its record", async () => {
    const { outcome, record } = await blocked(() => {});
    expect(outcome.code).toBe("processed");
    expect(record).toMatchObject({ status: "done" });
  });

  test("completes its record although another worker has taken over", async () => {
    const { outcome, record } = await blocked((store, key) => {
      expect(store.claim(key, claimBy("heir"), call)).toMatchObject({ status: "claimed", run: 2 });
    });
    expect(outcome.code).toBe("processed");
    expect(record).toMatchObject({ status: "done" });
  });

  test("is reported as a lost lease", async () => {
    const { reports } = await blocked(() => {});
    expect(reports).toMatchObject([{ code: "processed", warnings: ["lease_lost"] }]);
  });
});

test.each([
  ["before its first await", async (block: () => void) => block()],
  [
    "later",
    async (block: () => void) => {
      await settled();
      block();
    },
  ],
])(
  "trap 34: the signal of a handler that blocked the event loop %s aborts once the loop is free",
  async (_when, blockOnce) => {
    const clock = fakeClock();
    const reason = gate<unknown>();
    const { receiver } = observedReceiver({
      clock,
      on: {
        "*": async (_event, { signal }) => {
          signal.addEventListener("abort", () => reason.open(signal.reason));
          await blockOnce(() => clock.jump(31_000));
          await reason.opened;
        },
      },
    });
    const outcome = receiver.receive(await signed());
    await settled();
    await settled();
    await clock.advance(1);
    expect(await reason.opened).toMatchObject({ code: "lease_lost" });
    expect((await outcome).warnings).toEqual(["lease_lost"]);
  },
);

describe("trap 35: a store that lost its records during a run", () => {
  /** A store that `flush` empties while claims are held, as FLUSHALL or a failover would. */
  function forgetful(clock = fakeClock()) {
    let inner = memoryStore({ clock });
    const store: DeliveryStore = {
      shared: false,
      claim: (...parameters) => inner.claim(...parameters),
      complete: (...parameters) => inner.complete(...parameters),
      release: (...parameters) => inner.release(...parameters),
      extend: (...parameters) => inner.extend(...parameters),
      forget: (...parameters) => inner.forget(...parameters),
    };
    return { clock, store, flush: () => void (inner = memoryStore({ clock })) };
  }

  test("gets the record back when the run completes", async () => {
    const { store, flush } = forgetful();
    const { receiver, internalErrors } = observedReceiver({ store, on: { "*": flush } });
    expect((await receiver.receive(await signed())).code).toBe("processed");
    expect((await receiver.receive(await signed())).code).toBe("duplicate");
    expect(internalErrors).toEqual([]);
  });

  test("lets the delivery run again after a failure", async () => {
    const { store, flush } = forgetful();
    let fails = true;
    const { receiver, internalErrors } = observedReceiver({
      store,
      on: {
        "*": () => {
          flush();
          if (fails) throw new Error("no");
        },
      },
    });
    expect((await receiver.receive(await signed())).code).toBe("handler_failed");
    fails = false;
    expect((await receiver.receive(await signed())).code).toBe("processed");
    expect(internalErrors).toEqual([]);
  });

  test("lets a processed delivery run once more at most, with a larger fence", async () => {
    const { clock, store, flush } = forgetful();
    const fences: (number | undefined)[] = [];
    const { receiver } = observedReceiver({
      store,
      on: { "*": (_event, ctx) => fences.push(ctx.fence) },
    });
    await receiver.receive(await signed());
    flush();
    clock.jump(1);
    expect((await receiver.receive(await signed())).code).toBe("processed");
    expect((await receiver.receive(await signed())).code).toBe("duplicate");
    expect(fences).toHaveLength(2);
    expect(fences[1]).toBeGreaterThan(fences[0] ?? Infinity);
  });
});
