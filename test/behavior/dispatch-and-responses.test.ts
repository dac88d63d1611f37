import {
  answer,
  createReceiver,
  type DeliveryStore,
  type Handlers,
  type ReceiverOptions,
} from "@svc-webhooks/core";
import { fakeClock, type FakeClock } from "@svc-webhooks/testing";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { z } from "zod";
import { eventBody, forgedSignature, secret, signed, unsigned } from "@svc-webhooks/kit/deliveries";
import { gate } from "@svc-webhooks/kit/gate";
import {
  heldHandler,
  observedReceiver,
  recordedStore,
  timedStore,
} from "@svc-webhooks/kit/receivers";
import { settled } from "@svc-webhooks/kit/settled";

// The adapter contract checks over HTTP that each adapter copies the response and awaits the handler.

/** Returns the keys of the handlers that run for an event of this type. */
async function ran(keys: readonly string[], type: string): Promise<readonly string[]> {
  const runs: string[] = [];
  const on: Handlers = Object.fromEntries(keys.map((key) => [key, () => runs.push(key)]));
  const { receiveAll } = observedReceiver({ on });
  const codes = await receiveAll(signed(eventBody(type)));
  expect(codes).toEqual([runs.length > 0 ? "processed" : "ignored"]);
  return runs;
}

const inherited = ["constructor", "__proto__", "toString", "hasOwnProperty", "valueOf"];

describe.each(inherited)("trap 36: the event type %s, which objects inherit,", (type) => {
  test("is unknown", async () => {
    expect(await ran(["email.sent", "email.*"], type)).toEqual([]);
  });

  test("selects no schema", async () => {
    const events = { "email.sent": z.object({ type: z.literal("email.sent") }) };
    const { receiveAll } = observedReceiver({ events });
    expect(await receiveAll(signed(eventBody(type)))).toEqual(["processed"]);
  });
});

test("trap 36: an event type that objects inherit runs the handler registered for it", async () => {
  expect(await ran(["constructor"], "constructor")).toEqual(["constructor"]);
  expect(await ran(["*"], "__proto__")).toEqual(["*"]);
});

test("trap 36: an event type that looks like a pattern is not a pattern", async () => {
  expect(await ran(["email.sent"], "email.*")).toEqual([]);
  expect(await ran(["email.*"], "email.*")).toEqual(["email.*"]);
  expect(await ran(["email.sent", "*"], "*")).toEqual(["*"]);
});

test.each(["x-svc-event-type", "x-svc-event", "x-event-type", "ce-type"])(
  "trap 37: the header %s does not affect an event's type",
  async (header) => {
    const runs: string[] = [];
    const { receive } = observedReceiver({
      on: { "email.sent": () => runs.push("email"), "domain.*": () => runs.push("domain") },
    });
    const headers = { [header]: "domain.updated" };
    expect(await receive(signed("{}", headers))).toMatchObject({ code: "event_untyped" });
    expect(await receive(signed(eventBody(), headers))).toMatchObject({ type: "email.sent" });
    expect(runs).toEqual(["email"]);
  },
);

const fail = () => {
  throw new Error("hook");
};
const reject = () => Promise.reject(new Error("hook"));

describe.each([
  ["throw", fail],
  ["reject", reject],
])("trap 38: hooks that %s", (_how, hook: () => never | Promise<never>) => {
  const hooks = { observe: hook, log: hook, onHandlerError: hook, onInternalError: hook };

  test.each([
    ["processed", {}, {}],
    ["handler_failed", { on: { "*": fail } }, {}],
    ["misconfigured", { secret: fail }, {}],
    ["signature_missing", {}, { "x-svc-signature": "" }],
  ])("do not change the outcome %s", async (code, options, headers) => {
    const { receiveAll } = observedReceiver({ ...hooks, ...options });
    expect(await receiveAll(signed(eventBody(), headers))).toEqual([code]);
  });

  test("are reported to onInternalError", async () => {
    const { receive, internalErrors } = observedReceiver({ observe: hook });
    await receive();
    await Promise.resolve();
    expect(internalErrors).toMatchObject([{ message: "hook" }]);
  });
});

const confidential = "confidential";
const confess = () => {
  throw Object.assign(new Error(confidential), { stack: `at ${confidential}` });
};

test.each<[string, Partial<ReceiverOptions>]>([
  ["handler_failed", { on: { "*": confess } }],
  ["internal_error", { eventType: confess }],
  ["misconfigured", { secret: confess }],
  ["store_unavailable", { store: recordedStore({ claim: confess }).store }],
  ["signature_mismatch", { secret: `whsec_${confidential}` }],
  ["event_untyped", { eventType: () => "" }],
  ["body_too_large", { maxBodyBytes: 1 }],
  ["ignored", { on: { "email.sent": () => {} } }],
])(
  "trap 39: the response for %s reveals nothing about the handler, the payload, a key or a digest",
  async (code, options) => {
    const body = eventBody(`${confidential}.type`, { field: confidential });
    const delivery = await signed(body, { "x-svc-delivery-id": confidential });
    const otherwise = await signed(body, {}, `whsec_${confidential}`);
    const outcome = await observedReceiver(options).receive(Promise.resolve(delivery));
    expect(outcome.code).toBe(code);
    const response = JSON.stringify(answer(outcome));
    const digests = [delivery, otherwise].map(({ headers }) =>
      headers["x-svc-signature"]?.slice(7),
    );
    for (const word of [confidential, secret, ...digests, "Error", "node_modules"]) {
      expect(response).not.toContain(word);
    }
  },
);

test("trap 40: an event without a handler gets 200, so that the sender does not retry", async () => {
  const { store, calls } = recordedStore();
  const { receive } = observedReceiver({ store, on: { "domain.*": () => {} } });
  expect(await receive()).toMatchObject({ code: "ignored", status: 200 });
  expect(calls).toEqual([]);
});

test.each([undefined, "", "sha256=", "nonsense", forgedSignature])(
  "trap 41: the signature %j gets 401, never 5xx",
  async (value) => {
    const { receive } = observedReceiver();
    const delivery = unsigned<string | undefined>(eventBody(), { "x-svc-signature": value });
    expect(await receive(delivery)).toMatchObject({ status: 401 });
  },
);

test("trap 42: a run is passed to the platform's waitUntil, and settles with its handler", async () => {
  const { on, finish } = heldHandler();
  const { receiver } = observedReceiver({ on });
  const order: string[] = [];
  const registered = gate();
  const outcome = receiver
    .receive(await signed(), {
      waitUntil(work) {
        void work.then(() => order.push("work settled"));
        registered.open();
      },
    })
    .then(({ code }) => order.push(code));
  await registered.opened;
  order.push("handler resolves");
  finish();
  await outcome;
  await Promise.resolve();
  expect(order[0]).toBe("handler resolves");
  expect(order.slice(1).toSorted()).toEqual(["processed", "work settled"]);
});

test.each([
  ["email.sent", "email.sent"],
  ["email.sent.again", "email.sent.again"],
  ["email.sent.late", "email.sent.*"],
  ["email.delivered", "email.*"],
  ["email.", "*"],
  ["email", "*"],
])("trap 44: only the most specific handler runs: for %s, that of %s", async (type, key) => {
  const all = ["*", "email.*", "email.sent.*", "email.sent", "email.sent.again"];
  expect(await ran(all, type)).toEqual([key]);
  expect(await ran(all.toReversed(), type)).toEqual([key]);
});

test("trap 44: a retry after a failure runs the same handler, and no other", async () => {
  const runs: string[] = [];
  const { receiveAll } = observedReceiver({
    on: {
      "*": () => runs.push("*"),
      "email.*": () => runs.push("email.*"),
      "email.sent": (_event, { run }) => {
        runs.push("email.sent");
        if (run === 1) throw new Error("no");
      },
    },
  });
  await receiveAll(signed(), signed());
  expect(runs).toEqual(["email.sent", "email.sent"]);
});

test("trap 45: a body that is rewritten for each attempt is the same delivery", async () => {
  const { receive } = observedReceiver();
  const attempt = (count: number) =>
    receive(signed(eventBody("email.sent", { count }), { "x-svc-attempt": String(count) }));
  expect(await attempt(1)).toMatchObject({ code: "processed", attempt: 1 });
  expect(await attempt(2)).toMatchObject({ code: "duplicate", attempt: 2, warnings: [] });
});

describe("with maxRuns 2", () => {
  /** Creates a receiver that records the run number of each started and each parked run. */
  function limited(
    store: DeliveryStore,
    clock: FakeClock,
    handler: () => void | Promise<void> = () => {},
  ) {
    const runs: unknown[] = [];
    const parked: unknown[] = [];
    const { receive } = observedReceiver({
      clock,
      store,
      maxRuns: 2,
      onParked: (_error, { run }) => parked.push(run),
      on: {
        "*": (_event, { run }) => {
          runs.push(run);
          return handler();
        },
      },
    });
    return { receive, runs, parked };
  }

  test("trap 46: claims that a slow store times out do not count as runs, and park nothing", async () => {
    const { clock, store: inner } = timedStore();
    let isSlow = true;
    const claim: DeliveryStore["claim"] = async (...request) => {
      const taken = await inner.claim(...request);
      return isSlow ? new Promise(() => {}) : taken;
    };
    const { store, operations } = recordedStore({ claim }, inner);
    const { receive, runs, parked } = limited(store, clock);
    for (let attempt = 1; attempt <= 5; attempt += 1) {
      const outcome = receive();
      await clock.advance(1_500);
      expect((await outcome).code).toBe("store_unavailable");
    }
    expect({ runs, parked }).toEqual({ runs: [], parked: [] });
    expect(operations().filter((operation) => operation === "release")).toHaveLength(5);

    isSlow = false;
    expect(await receive()).toMatchObject({ code: "processed", run: 1 });
    expect({ runs, parked }).toEqual({ runs: [1], parked: [] });
  });

  test("trap 47: a handler that kills its process is started at most maxRuns times", async () => {
    const { clock, store: inner } = timedStore();
    const { store, operations } = recordedStore({}, inner);
    for (const run of [1, 2]) {
      // A dead process does not extend, complete or release its claim, so its clock stands still.
      const dying = limited(store, fakeClock(), () => new Promise(() => {}));
      void dying.receive();
      await settled();
      expect(dying).toMatchObject({ runs: [run], parked: [] });
      clock.jump(30_000);
    }
    expect(operations()).toEqual(["claim", "claim"]);

    const heir = limited(store, clock);
    expect(await heir.receive()).toMatchObject({ code: "parked", run: 3 });
    expect(await heir.receive()).toMatchObject({ code: "parked" });
    expect(heir).toMatchObject({ runs: [], parked: [3] });
  });
});

test.each([
  ["signature_missing", {}, { "x-svc-signature": "" }],
  ["signature_malformed", {}, { "x-svc-signature": "sha256=" }],
  ["body_too_large", {}, { "content-length": "101" }],
  ["encoding_unsupported", {}, { "content-encoding": "br" }],
  ["method_not_allowed", { method: "GET" }, {}],
])("trap 49: the body of a request that ends as %s is never read", async (code, other, headers) => {
  const read = vi.fn<() => Promise<Uint8Array>>(() => Promise.resolve(new Uint8Array()));
  const { receiveAll } = observedReceiver({ maxBodyBytes: 100 });
  const delivery = await signed(eventBody(), headers);
  expect(await receiveAll({ ...delivery, ...other, body: read })).toEqual([code]);
  expect(read).not.toHaveBeenCalled();
});

describe("trap 50: strings from a request are printed on one line without terminal sequences", () => {
  const hostile = "a\nsvc-webhooks: all is well\r\u001b[2J\u009b31m\u2028\u202e\u0000é";
  const visible = /^[ -~]+$/;

  /**
   * Returns the lines that the default hooks print when a receiver with these options receives an event with a hostile
   * type.
   */
  async function printed(options: Partial<ReceiverOptions>): Promise<readonly string[]> {
    const print = vi.spyOn(console, "error").mockReturnValue();
    onTestFinished(() => print.mockRestore());
    const receiver = createReceiver({ secret, on: { "*": () => {} }, ...options });
    await receiver.receive(await signed(eventBody(hostile)));
    return print.mock.calls.map(String);
  }

  test.each<[string, Partial<ReceiverOptions>, string]>([
    [
      "the store is unavailable",
      { store: recordedStore({ claim: () => Promise.reject(new Error(hostile)) }).store },
      "store_unavailable",
    ],
    [
      "a hook throws an error that contains them",
      {
        observe({ type }) {
          throw new Error(`unknown metric ${type}`);
        },
      },
      "unknown metric a",
    ],
  ])("when %s", async (_when, options, part) => {
    const texts = await printed(options);
    expect(texts).toEqual([expect.stringMatching(visible)]);
    expect(texts[0]).toContain(part);
  });

  test("when a handler fails", async () => {
    const error = new Error("no");
    const texts = await printed({ on: { "*": () => Promise.reject(error) } });
    const [line, ...frames] = texts.join().split("\n");
    expect(texts).toHaveLength(1);
    expect(line).toMatch(visible);
    expect(line).toContain("dlv_1");
    expect(frames.filter((frame) => !/^ {2}[ -~]+$/.test(frame))).toEqual([]);
  });
});
