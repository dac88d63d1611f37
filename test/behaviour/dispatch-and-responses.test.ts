import {
  createReceiver,
  memoryStore,
  type DeliveryStore,
  type Handlers,
  type ReceiverOptions,
} from "@svc-webhooks/core";
import { fakeClock, type FakeClock } from "@svc-webhooks/testing";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { z } from "zod";
import { send } from "@svc-webhooks/kit/clients";
import { eventBody, forgedSignature, secret, signed, unsigned } from "@svc-webhooks/kit/deliveries";
import { gate } from "@svc-webhooks/kit/gate";
import { observedReceiver, recordedStore } from "@svc-webhooks/kit/receivers";
import { listen, platforms } from "@svc-webhooks/kit/servers";
import { settled } from "@svc-webhooks/kit/settled";

/** The handlers that run for an event of this type. */
async function ran(keys: readonly string[], type: string): Promise<readonly string[]> {
  const runs: string[] = [];
  const on: Handlers = Object.fromEntries(keys.map((key) => [key, () => runs.push(key)]));
  const { receiver } = observedReceiver({ on });
  const { code } = await receiver.receive(await signed(eventBody(type)));
  expect(code).toBe(runs.length > 0 ? "processed" : "ignored");
  return runs;
}

const inherited = ["constructor", "__proto__", "toString", "hasOwnProperty", "valueOf"];

test("trap 36: an event type that is an inherited property of objects is unknown", async () => {
  for (const type of inherited) expect(await ran(["email.sent", "email.*"], type)).toEqual([]);
});

test("trap 36: an event type that is an inherited property runs the handler registered for it", async () => {
  expect(await ran(["constructor"], "constructor")).toEqual(["constructor"]);
  expect(await ran(["*"], "__proto__")).toEqual(["*"]);
});

test("trap 36: an event type that is an inherited property selects no schema", async () => {
  const events = { "email.sent": z.object({ type: z.literal("email.sent") }) };
  for (const type of inherited) {
    const { receiver } = observedReceiver({ events });
    expect((await receiver.receive(await signed(eventBody(type)))).code).toBe("processed");
  }
});

test("trap 36: an event type that looks like a pattern is not a pattern", async () => {
  expect(await ran(["email.sent"], "email.*")).toEqual([]);
  expect(await ran(["email.*"], "email.*")).toEqual(["email.*"]);
  expect(await ran(["email.sent", "*"], "*")).toEqual(["*"]);
});

test("trap 37: no header affects an event's type", async () => {
  const runs: string[] = [];
  const { receiver } = observedReceiver({
    on: { "email.sent": () => runs.push("email"), "domain.*": () => runs.push("domain") },
  });
  const headers = {
    "x-svc-event-type": "domain.updated",
    "x-svc-event": "domain.updated",
    "x-event-type": "domain.updated",
    "ce-type": "domain.updated",
  };
  expect((await receiver.receive(await signed(eventBody("email.sent"), headers))).type).toBe(
    "email.sent",
  );
  expect(runs).toEqual(["email"]);

  const untyped = { ...headers, "x-svc-delivery-id": "dlv_2" };
  expect((await receiver.receive(await signed("{}", untyped))).code).toBe("event_untyped");
  expect(runs).toEqual(["email"]);
});

const fail = () => {
  throw new Error("hook");
};
const reject = () => Promise.reject(new Error("hook"));

describe.each([
  ["throw", fail],
  ["reject", reject],
])("trap 38: hooks that %s", (_how, hook: () => never | Promise<never>) => {
  const hooks: Partial<ReceiverOptions> = {
    observe: hook,
    log: hook,
    onHandlerError: hook,
    onInternalError: hook,
  };

  test.each([
    ["processed", {}, {}],
    ["handler_failed", { on: { "*": fail } }, {}],
    ["misconfigured", { secret: fail }, {}],
    ["signature_missing", {}, { "x-svc-signature": undefined }],
  ] as const)("do not change the outcome %s", async (code, options, headers) => {
    const { receiver } = observedReceiver({ ...hooks, ...options });
    expect((await receiver.receive(await signed(eventBody(), headers))).code).toBe(code);
  });

  test("are reported to onInternalError", async () => {
    const { receiver, internalErrors } = observedReceiver({ observe: hook });
    await receiver.receive(await signed());
    await Promise.resolve();
    expect(internalErrors).toMatchObject([{ message: "hook" }]);
  });
});

test("trap 42: a run is passed to the platform's waitUntil, and settles with its handler", async () => {
  const finish = gate();
  const { receiver } = observedReceiver({ on: { "*": () => finish.opened } });
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
  finish.open();
  await outcome;
  await Promise.resolve();
  expect(order[0]).toBe("handler resolves");
  expect(order.slice(1).toSorted()).toEqual(["processed", "work settled"]);
});

test("trap 44: only the most specific handler runs", async () => {
  const all = ["*", "email.*", "email.sent.*", "email.sent", "email.sent.again"];
  expect(await ran(all, "email.sent")).toEqual(["email.sent"]);
  expect(await ran(all, "email.sent.again")).toEqual(["email.sent.again"]);
  expect(await ran(all, "email.sent.late")).toEqual(["email.sent.*"]);
  expect(await ran(all, "email.delivered")).toEqual(["email.*"]);
  expect(await ran(all, "email.")).toEqual(["*"]);
  expect(await ran(all, "email")).toEqual(["*"]);
  expect(await ran(all.toReversed(), "email.sent")).toEqual(["email.sent"]);
});

test("trap 44: a retry after a failure runs the same handler, and no other", async () => {
  const runs: string[] = [];
  const { receiver } = observedReceiver({
    on: {
      "*": () => runs.push("*"),
      "email.*": () => runs.push("email.*"),
      "email.sent": (_event, { run }) => {
        runs.push("email.sent");
        if (run === 1) throw new Error("no");
      },
    },
  });
  await receiver.receive(await signed());
  await receiver.receive(await signed());
  expect(runs).toEqual(["email.sent", "email.sent"]);
});

test("trap 45: a body that is rewritten for each attempt is the same delivery", async () => {
  const { receiver } = observedReceiver();
  const attempt = (count: number) =>
    signed(eventBody("email.sent", { attempt: count }), { "x-svc-attempt": String(count) });
  expect(await receiver.receive(await attempt(1))).toMatchObject({ code: "processed", attempt: 1 });
  expect(await receiver.receive(await attempt(2))).toMatchObject({
    code: "duplicate",
    attempt: 2,
    warnings: [],
  });
});

describe("traps 46 and 47: with maxRuns", () => {
  /** A receiver that parks after two runs, and the numbers of its started and parked runs. */
  function limited(
    store: DeliveryStore,
    clock: FakeClock,
    handler: () => void | Promise<void> = () => {},
  ) {
    const runs: unknown[] = [];
    const parked: unknown[] = [];
    const { receiver } = observedReceiver({
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
    return { receiver, runs, parked };
  }

  test("trap 46: claims that a slow store times out do not count as runs, and park nothing", async () => {
    const clock = fakeClock();
    const inner = memoryStore({ clock });
    let slow = true;
    const { store, operations } = recordedStore(
      {
        async claim(...request) {
          const taken = await inner.claim(...request);
          return slow ? new Promise(() => {}) : taken;
        },
      },
      inner,
    );
    const { receiver, runs, parked } = limited(store, clock);
    for (let attempt = 1; attempt <= 5; attempt += 1) {
      const outcome = receiver.receive(await signed());
      await clock.advance(1_500);
      expect((await outcome).code).toBe("store_unavailable");
    }
    expect({ runs, parked }).toEqual({ runs: [], parked: [] });
    expect(operations().filter((operation) => operation === "release")).toHaveLength(5);

    slow = false;
    expect(await receiver.receive(await signed())).toMatchObject({ code: "processed", run: 1 });
    expect({ runs, parked }).toEqual({ runs: [1], parked: [] });
  });

  test("trap 47: a handler that kills its process is started at most maxRuns times", async () => {
    const clock = fakeClock();
    const { store, operations } = recordedStore({}, memoryStore({ clock }));
    const runs: unknown[] = [];
    const parked: unknown[] = [];
    for (let start = 1; start <= 2; start += 1) {
      // A dead process does not extend, complete or release its claim, so its clock stands still.
      const dying = limited(store, fakeClock(), () => new Promise(() => {}));
      void dying.receiver.receive(await signed());
      await settled();
      runs.push(...dying.runs);
      parked.push(...dying.parked);
      clock.jump(30_000);
    }
    expect({ runs, parked }).toEqual({ runs: [1, 2], parked: [] });
    expect(operations()).toEqual(["claim", "claim"]);

    const heir = limited(store, clock);
    expect(await heir.receiver.receive(await signed())).toMatchObject({ code: "parked", run: 3 });
    expect(heir).toMatchObject({ runs: [], parked: [3] });
    expect((await heir.receiver.receive(await signed())).code).toBe("parked");
    expect(heir).toMatchObject({ runs: [], parked: [3] });
  });
});

test("trap 49: the body of an unsigned or oversized request is never read", async () => {
  const { receiver } = observedReceiver({ maxBodyBytes: 100 });
  const read = vi.fn<() => Promise<Uint8Array>>(() => Promise.resolve(new Uint8Array()));
  const { headers } = await signed();
  for (const [code, request] of [
    ["signature_missing", { headers: { ...headers, "x-svc-signature": "" } }],
    ["signature_malformed", { headers: { ...headers, "x-svc-signature": "sha256=" } }],
    ["body_too_large", { headers: { ...headers, "content-length": "101" } }],
    ["encoding_unsupported", { headers: { ...headers, "content-encoding": "br" } }],
    ["method_not_allowed", { headers, method: "GET" }],
  ] as const) {
    const outcome = await receiver.receive({ method: "POST", ...request, body: read });
    expect(outcome.code).toBe(code);
  }
  expect(read).not.toHaveBeenCalled();
});

describe("trap 50: strings from a request are printed on one line without terminal sequences", () => {
  const hostile = "a\nsvc-webhooks: all is well\r\u001b[2J\u009b31m\u2028\u202e\u0000é";
  const visible = /^[ -~]+$/;

  /** The calls of `console.error`, which the default hooks print to. */
  function printed(): readonly unknown[][] {
    const print = vi.spyOn(console, "error").mockReturnValue();
    onTestFinished(() => print.mockRestore());
    return print.mock.calls;
  }

  test("when the store is unavailable", async () => {
    const calls = printed();
    const { store } = recordedStore({ claim: () => Promise.reject(new Error(hostile)) });
    const receiver = createReceiver({ secret, on: { "*": () => {} }, store });
    await receiver.receive(await signed(eventBody(hostile)));
    expect(calls).toEqual([[expect.stringMatching(visible)]]);
    expect(calls[0]?.[0]).toContain("store_unavailable");
  });

  test("when a handler fails", async () => {
    const calls = printed();
    const error = new Error("no");
    const receiver = createReceiver({ secret, on: { "*": () => Promise.reject(error) } });
    await receiver.receive(await signed(eventBody(hostile)));
    const [line, ...frames] = String(calls[0]?.[0]).split("\n");
    expect(calls).toHaveLength(1);
    expect(line).toMatch(visible);
    expect(line).toContain("dlv_1");
    expect(frames.filter((frame) => !/^ {2}[ -~]+$/.test(frame))).toEqual([]);
  });

  test("when a hook throws an error that contains them", async () => {
    const calls = printed();
    const receiver = createReceiver({
      secret,
      on: { "*": () => {} },
      observe({ type }) {
        throw new Error(`unknown metric ${type}`);
      },
    });
    await receiver.receive(await signed(eventBody(hostile)));
    expect(calls).toEqual([[expect.stringMatching(visible)]]);
    expect(calls[0]?.[0]).toContain("unknown metric a");
  });
});

describe.each(platforms)("on $name", ({ mount, parsers }) => {
  test("trap 39: no response reveals anything about the handler, the payload, a key or a digest", async () => {
    const confidential = "confidential";
    const body = eventBody(`${confidential}.type`, { field: confidential });
    const delivery = await signed(body, { "x-svc-delivery-id": confidential });
    const thrower = () => {
      throw Object.assign(new Error(confidential), { stack: `at ${confidential}` });
    };
    const failing: readonly (readonly [string, Partial<ReceiverOptions>])[] = [
      ["handler_failed", { on: { "*": thrower } }],
      ["internal_error", { eventType: thrower }],
      ["misconfigured", { secret: thrower }],
      ["store_unavailable", { store: recordedStore({ claim: thrower }).store }],
      ["signature_mismatch", { secret: `whsec_${confidential}` }],
      ["event_untyped", { eventType: () => "" }],
      ["body_too_large", { maxBodyBytes: 1 }],
      ["ignored", { on: { "email.sent": () => {} } }],
    ];
    const digests = [
      delivery.headers["x-svc-signature"],
      await signed(body, {}, `whsec_${confidential}`).then(
        ({ headers }) => headers["x-svc-signature"],
      ),
    ].map((signature) => String(signature).slice("sha256=".length));

    for (const [code, options] of failing) {
      const { receiver } = observedReceiver(options);
      const reply = await send(await listen(mount(receiver)), delivery);
      expect(reply.code).toBe(code);
      const whole = JSON.stringify([reply.headers, reply.text]);
      for (const word of [confidential, secret, ...digests, "Error", "node_modules"]) {
        expect(whole).not.toContain(word);
      }
    }
  });

  test("trap 39: the response to a body that was already parsed reveals nothing", async () => {
    const { receiver } = observedReceiver();
    const reply = await send(await listen(mount(receiver, parsers.json())), await signed());
    expect(reply.text).toBe(`{"error":{"code":"body_unavailable","message":"body unavailable"}}`);
  });

  test("trap 40: an event without a handler gets 200, so that the sender does not retry", async () => {
    const { store, calls } = recordedStore();
    const { receiver } = observedReceiver({ store, on: { "email.*": () => {} } });
    const port = await listen(mount(receiver));
    expect(await send(port, await signed(eventBody("domain.updated")))).toMatchObject({
      status: 200,
      text: `{"status":"ignored"}`,
    });
    expect(calls).toEqual([]);
  });

  test("trap 41: a missing, malformed or wrong signature gets 401, never 5xx", async () => {
    const { receiver } = observedReceiver();
    const port = await listen(mount(receiver));
    for (const value of [undefined, "", "sha256=", "nonsense", forgedSignature]) {
      const delivery = unsigned(eventBody(), { "x-svc-signature": value });
      expect(await send(port, delivery)).toMatchObject({ status: 401 });
    }
  });

  test("trap 42: the response is sent after the handler finishes", async () => {
    const order: string[] = [];
    const [started, finish] = [gate(), gate()];
    const { receiver } = observedReceiver({
      on: {
        "*": async () => {
          started.open();
          await finish.opened;
          order.push("handler finished");
        },
      },
    });
    const port = await listen(mount(receiver));
    const responded = send(port, await signed()).then(({ code }) => order.push(code ?? ""));
    await started.opened;
    // A response that did not wait for the handler would arrive before this second one.
    expect(await send(port, await signed())).toMatchObject({ code: "in_flight" });
    order.push("response to another request");
    finish.open();
    await responded;
    expect(order).toEqual(["response to another request", "handler finished", "processed"]);
  });
});
