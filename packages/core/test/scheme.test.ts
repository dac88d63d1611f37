import { settled } from "@svc-webhooks/kit/settled";
import { schemeDelivery, testScheme, toleranceMs } from "@svc-webhooks/kit/test-scheme";
import { fakeClock } from "@svc-webhooks/testing";
import { describe, expect, test } from "vitest";
import {
  answer,
  createReceiver,
  parseDelivery,
  PermanentError,
  serializeDelivery,
  type Identified,
  type Scheme,
  type VerifiedRequest,
} from "../src/index.js";
import { recorded, timed } from "./support.js";

const secret = "test key";

/** A receiver of the test scheme on a fake clock, and a function that sends it a delivery. */
function schemed(
  options: Parameters<typeof recorded>[0] = {},
  change: Partial<Scheme> = {},
): ReturnType<typeof recorded> & {
  readonly deliver: (
    body?: object | string,
    more?: Readonly<Record<string, string>>,
  ) => ReturnType<ReturnType<typeof recorded>["receiver"]["receive"]>;
} {
  const bench = recorded({ secret, scheme: { ...testScheme, ...change }, ...options });
  return {
    ...bench,
    deliver: (body, more) => {
      const delivery = schemeDelivery(body, { secret, at: bench.clock.now() });
      return bench.receiver.receive({ ...delivery, headers: { ...delivery.headers, ...more } });
    },
  };
}

/** A scheme whose `identify` returns this for each delivery. */
const identifying = (identified: Identified): Partial<Scheme> => ({ identify: () => identified });

describe("a receiver with a scheme", () => {
  test("passes the scheme's facts to the handler, and none of the service's headers", async () => {
    const { contexts, deliver, reports } = schemed(
      {},
      {
        eventId: ({ id }) => `${String(id)}!`,
        eventType: (body) => `billing.${String(body["type"])}`,
      },
    );
    const outcome = await deliver(undefined, {
      "x-svc-delivery-id": "dlv_1",
      "x-svc-event-id": "evt_9",
      "x-svc-subscription-id": "sub_1",
      "x-svc-attempt": "3",
    });
    expect(outcome).toMatchObject({
      code: "processed",
      deliveryId: "evt_1",
      eventId: "evt_1!",
      eventIdSigned: true,
      type: "billing.invoice.paid",
    });
    expect(contexts[0]).not.toHaveProperty("subscriptionId", expect.anything());
    expect(contexts[0]).not.toHaveProperty("attempt", expect.anything());
    for (const facts of [outcome, reports[0]]) {
      expect(facts).not.toHaveProperty("subscriptionId");
      expect(facts).not.toHaveProperty("attempt");
    }
    expect((await deliver()).code).toBe("duplicate");
  });

  test("takes no event id from a header that a stranger may send", async () => {
    const { contexts, deliver } = schemed();
    await deliver(undefined, { "x-svc-event-id": "evt_9" });
    expect(contexts[0]).toMatchObject({ eventIdSigned: false });
    expect(contexts[0]?.eventId).toBeUndefined();
  });

  test("lets the options eventType and eventId win", async () => {
    const { deliver } = schemed(
      { eventType: () => "a", eventId: () => "b" },
      { eventType: () => "c", eventId: () => "d" },
    );
    expect(await deliver()).toMatchObject({ type: "a", eventId: "b" });
  });

  test("replaces the event with the scheme's body and its type", async () => {
    const events: unknown[] = [];
    const { deliver } = schemed(
      { on: { "*": (event) => void events.push(event) } },
      { ...identifying({ deliveryId: "a", body: { events: [1] } }), eventType: () => "events" },
    );
    await deliver("[1]");
    expect(events).toEqual([{ type: "events", events: [1] }]);
  });

  test("accepts every key of a rotation, and warns of an old one", async () => {
    const { deliver } = schemed({ secret: ["new key", secret] });
    expect(await deliver()).toMatchObject({
      code: "processed",
      secretId: "2",
      warnings: ["old_secret"],
    });
  });

  test("dedupes by the scheme's event id without an option", async () => {
    const { deliver } = schemed({ dedupeBy: "event" }, { eventId: ({ name }) => name as string });
    const sent = (id: string) => deliver({ id, name: "n", type: "t" });
    expect((await sent("1")).code).toBe("processed");
    expect(await sent("2")).toMatchObject({ code: "duplicate", warnings: ["other_delivery_id"] });
  });

  test("forgets by the scheme's delivery id, and by its event id with the type of a header", async () => {
    const byDelivery = schemed();
    await byDelivery.deliver();
    expect(await byDelivery.receiver.forget({ deliveryId: "evt_1" })).toBe(true);

    const byEvent = schemed(
      { dedupeBy: "event" },
      {
        eventId: ({ id }) => id as string,
        eventType: (_body, _bytes, header) => `t${header("h")}`,
      },
    );
    await byEvent.deliver(undefined, { h: "a" });
    const { body } = schemeDelivery();
    expect(await byEvent.receiver.forget({ deliveryId: "x", body })).toBe(false);
    expect(await byEvent.receiver.forget({ deliveryId: "x", body, headers: { H: "a" } })).toBe(
      true,
    );
  });

  test("resumes a stored delivery a day later, with the scheme's headers and without its claim", async () => {
    const rows: string[] = [];
    const requests: VerifiedRequest<unknown>[] = [];
    let isBroken = true;
    const { clock, receiver, deliver } = schemed(
      {
        handle: () => {
          if (isBroken) throw new PermanentError("no such customer");
        },
        onParked: (_, { delivery }) => rows.push(serializeDelivery(delivery)),
      },
      {
        identify: (request) => {
          requests.push(request);
          return testScheme.identify(request);
        },
      },
    );
    expect((await deliver(undefined, { "x-other": "1" })).code).toBe("parked");
    const stored = parseDelivery(rows[0]);
    expect(Object.keys(stored.headers).toSorted()).toEqual(["x-test-signature", "x-test-time"]);
    isBroken = false;
    clock.jump(86_400_000);
    expect((await receiver.resume(stored)).code).toBe("processed");
    expect(requests.map(({ claim }) => claim !== undefined)).toEqual([true, false]);
  });

  test.each([
    [-toleranceMs - 1, "signature_stale"],
    [-toleranceMs, "processed"],
    [toleranceMs, "processed"],
    [toleranceMs + 1, "signature_stale"],
  ])("that gets a delivery signed %i ms before it arrives ends it as %s", async (ms, code) => {
    const { clock, receiver } = schemed();
    const delivery = schemeDelivery(undefined, { secret, at: clock.now() - ms });
    expect((await receiver.receive(delivery)).code).toBe(code);
  });

  test.each([
    ["signature_missing", {}],
    ["signature_malformed", { "x-test-signature": "sha256=0" }],
    ["signature_stale", { "x-test-signature": "0".repeat(64), "x-test-time": "0" }],
  ])("refuses as %s before it reads the body", async (code, headers) => {
    const { receiver } = schemed();
    let isRead = false;
    const body = () => {
      isRead = true;
      return new Uint8Array();
    };
    expect(await receiver.receive({ method: "POST", headers, body })).toMatchObject({
      code,
      status: 401,
    });
    expect(isRead).toBe(false);
  });

  test("refuses verified deliveries while it drains, before identify is called", async () => {
    const { receiver, deliver } = schemed({ handle: () => new Promise(() => {}) }, {});
    void deliver();
    await settled();
    const drained = receiver.drain({ deadlineMs: 1 });
    expect((await deliver({ type: "t" })).code).toBe("draining");
    void drained;
  });
});

describe("a handshake", () => {
  test("is verified, calls no handler and no store, and responds with the scheme's reply", async () => {
    const { operations, contexts, deliver, receiver } = schemed(
      {},
      identifying({ code: "handshake", reply: { body: '{"challenge":"c"}' } }),
    );
    const outcome = await deliver({ ping: true });
    expect(outcome).toMatchObject({ code: "handshake", status: 200 });
    expect(answer(outcome)).toMatchObject({ status: 200, body: '{"challenge":"c"}' });
    expect([operations(), contexts]).toEqual([[], []]);
    const forged = schemeDelivery({ ping: true }, { secret: "other" });
    expect((await receiver.receive(forged)).code).toBe("signature_stale");
  });

  test("has the body of its code without a reply", async () => {
    expect(answer(await schemed().deliver({ ping: true })).body).toBe('{"status":"handshake"}');
  });
});

describe("a reply", () => {
  const reply = { status: 204, headers: { "Cache-Control": "no-store" }, body: "" };

  test("replaces the response of every 200, and of nothing else", async () => {
    let isBroken = true;
    const { deliver } = schemed(
      {
        handle: () => {
          if (isBroken) throw new Error("no");
        },
        onHandlerError: () => {},
      },
      identifying({ deliveryId: "a", reply }),
    );
    expect(answer(await deliver()).status).toBe(500);
    isBroken = false;
    expect(answer(await deliver())).toEqual(reply);
    expect(answer(await deliver())).toEqual(reply);
  });

  test("of status 204 is a Response without a body", async () => {
    const { clock, receiver } = schemed({}, identifying({ deliveryId: "a", reply }));
    const { headers, body } = schemeDelivery(undefined, { secret, at: clock.now() });
    const request = new Request("http://localhost/", {
      method: "POST",
      headers,
      body: new Uint8Array(body),
    });
    const response = await receiver.fetch(request);
    expect([response.status, response.body]).toEqual([204, null]);
  });

  test("is absent from the outcomes and reports of the service", async () => {
    const { receiver, reports } = timed();
    const outcome = await receiver.receive({ method: "POST", headers: {}, body: new Uint8Array() });
    expect(outcome).not.toHaveProperty("reply");
    expect(reports[0]).not.toHaveProperty("reply");
  });
});

describe("a faulty scheme ends a delivery as", () => {
  const fails = () => {
    throw new Error("a mistake");
  };
  const rejects = () => Promise.reject(new Error("a mistake"));

  test.each<[string, string, Partial<Scheme>]>([
    ["delivery_id_missing", "no id", identifying({})],
    ["delivery_id_missing", "an empty id", identifying({ deliveryId: "" })],
    ["delivery_id_missing", "an id that is not text", identifying({ deliveryId: true as never })],
    [
      "delivery_id_missing",
      "a function in place of an id",
      // Without spaces, as a minifier writes it.
      identifying({ deliveryId: Object.assign(() => "a", { toString: () => "o=>o.id" }) as never }),
    ],
    ["delivery_id_malformed", "an id with a comma", identifying({ deliveryId: "a,b" })],
    ["delivery_id_malformed", "a long id", identifying({ deliveryId: "a".repeat(257) })],
    ["malformed_body", "no body", { identify: () => ({ deliveryId: "a" }) }],
    [
      "event_untyped",
      "no type",
      { ...identifying({ deliveryId: "a" }), eventType: () => undefined },
    ],
    ["internal_error", "an inspect that throws", { inspect: fails }],
    [
      "internal_error",
      "an inspect that rejects",
      { inspect: rejects as unknown as Scheme["inspect"] },
    ],
    ["internal_error", "an importKey that throws", { importKey: fails }],
    ["internal_error", "an importKey that rejects", { importKey: rejects }],
    ["internal_error", "a verify that rejects", { importKey: () => ({ verify: rejects }) }],
    [
      "signature_mismatch",
      "a verify that returns nothing",
      { importKey: () => ({ verify: () => undefined as unknown as boolean }) },
    ],
    ["internal_error", "an identify that throws", { identify: fails }],
    [
      "internal_error",
      "an unknown problem",
      { inspect: () => ({ problem: "odd" as "signature_stale" }) },
    ],
    ["internal_error", "an unknown code", identifying({ code: "odd" as "handshake" })],
    [
      "internal_error",
      "an id that rejects",
      { identify: () => ({ deliveryId: rejects() as unknown as string }) },
    ],
    [
      "signature_mismatch",
      "a verify that returns an object",
      { importKey: () => ({ verify: () => ({ ok: false }) as unknown as boolean }) },
    ],
    ["internal_error", "an identify that rejects", { identify: rejects }],
    [
      "internal_error",
      "an identify that returns nothing",
      { identify: () => undefined as unknown as Identified },
    ],
  ])("%s: %s", async (code, what, change) => {
    const { operations, deliver, lines } = schemed({}, change);
    const outcome = await deliver(what === "no body" ? "[]" : undefined);
    expect(outcome.code).toBe(code);
    expect(operations()).toEqual([]);
    expect(lines[0]).toContain(code === "internal_error" ? "internal_error: " : code);
  });

  test("processed: an inspect that returns a promise", async () => {
    const inspect = (...args: Parameters<Scheme["inspect"]>) =>
      Promise.resolve(testScheme.inspect(...args));
    const { deliver } = schemed({}, { inspect: inspect as unknown as Scheme["inspect"] });
    expect((await deliver()).code).toBe("processed");
  });
});

describe("the option scheme", () => {
  const build = (options: object) => () =>
    createReceiver({ secret, on: { "*": () => {} }, ...options });

  test.each([
    ["a scheme that was not called", () => testScheme],
    ["an empty object", {}],
    ["null", null],
    ["a name", "stripe"],
  ])("refuses %s", (_, scheme) => {
    expect(build({ scheme })).toThrow(
      expect.objectContaining({
        code: "invalid_option",
        option: "scheme",
        message: expect.stringContaining(
          "Call the scheme's function and pass its result, such as stripe().",
        ),
      }) as Error,
    );
  });

  test("lets the scheme judge its keys instead of the rules of the service", () => {
    expect(build({ scheme: testScheme, secret: "your-key" })).not.toThrow();
    const refused = { code: "invalid_secret", option: "secret" };
    expect(build({ scheme: testScheme, secret: "" })).toThrow(
      expect.objectContaining(refused) as Error,
    );
    const keyBytes = (key: unknown, option: string) => Buffer.from(`${option}${String(key)}`);
    const given: unknown[] = [];
    const scheme: Scheme = {
      ...testScheme,
      keyBytes: (key, option) => {
        given.push([key, option]);
        return keyBytes(key, option);
      },
    };
    build({ scheme, secret: [{ id: "a", key: "b" }, new Uint8Array(2)] })();
    expect(given).toEqual([
      ["b", "secret[0].key"],
      [new Uint8Array(2), "secret[1]"],
    ]);
  });

  test("is the default of handlerTimeoutMs, at most leaseMs − 5,000", async () => {
    const { clock, deliver } = schemed(
      { handle: () => new Promise(() => {}), leaseMs: 10_000 },
      { handlerTimeoutMs: 2_000 },
    );
    const outcome = deliver();
    await clock.advance(2_000);
    expect((await outcome).code).toBe("handler_timeout");
    expect(build({ scheme: { ...testScheme, handlerTimeoutMs: 60_000 } })).not.toThrow();
  });

  test("prints the scheme's notice once, when the receiver is built", async () => {
    const { deliver, lines } = schemed({}, { notice: "Ids are not signed." });
    await deliver();
    await deliver();
    expect(lines).toEqual(["svc-webhooks test: notice: Ids are not signed."]);
  });
});

test("the lines of a scheme name its sender and its header, and no X-SVC header", async () => {
  const { clock, receiver, lines, deliver } = schemed({}, identifying({}));
  const at = clock.now();
  const refused = async (headers: Readonly<Record<string, string>>) =>
    receiver.receive({ method: "POST", headers, body: schemeDelivery().body });
  await refused({});
  await refused({ "x-test-signature": "a" });
  await refused({ "x-test-signature": "0".repeat(64), "x-test-time": "5" });
  await receiver.receive(schemeDelivery(undefined, { secret: "other", at }));
  await deliver();
  expect(lines.join("\n")).not.toMatch(/x-svc/i);
  expect(lines).toEqual([
    expect.stringContaining("signature_missing: The request has no x-test-signature header."),
    expect.stringContaining(
      "x-test-signature does not have the form <64 hex digits>. The request did not come from test",
    ),
    expect.stringContaining("signature_stale: signed at 5. The signed timestamp differs too much"),
    expect.stringContaining("signature_mismatch: Fingerprints of `secret`: default: short key. "),
    expect.stringContaining(
      "delivery_id_missing: The signature is genuine, but the delivery has no id.",
    ),
  ]);
});

test("a fake clock decides staleness", async () => {
  const clock = fakeClock();
  const { receiver } = schemed({ clock });
  const delivery = schemeDelivery(undefined, { secret, at: clock.now() });
  clock.jump(toleranceMs + 1);
  expect((await receiver.receive(delivery)).code).toBe("signature_stale");
});
