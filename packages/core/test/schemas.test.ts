import { eventBody } from "@svc-webhooks/kit/deliveries";
import { gate } from "@svc-webhooks/kit/gate";
import { settled } from "@svc-webhooks/kit/settled";
import { type } from "arktype";
import * as v from "valibot";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import type { DeliveryContext, EventSchemas, StandardSchemaResult } from "../src/index.js";
import {
  never,
  noting,
  observed,
  operationsOf,
  schemaBy,
  send,
  timed,
  type NotedCall,
} from "./support.js";

const second = 1_000;

/** Schemas that convert the text in `count` to a number. */
const libraries = {
  zod: z.object({
    type: z.literal("email.sent"),
    count: z.string().regex(/^\d+$/).transform(Number),
  }),
  "zod, async": z.object({
    type: z.literal("email.sent"),
    count: z
      .string()
      .refine(async (text) => Promise.resolve(/^\d+$/.test(text)))
      .transform(Number),
  }),
  valibot: v.object({
    type: v.literal("email.sent"),
    count: v.pipe(v.string(), v.digits(), v.transform(Number)),
  }),
  "valibot, async": v.objectAsync({
    type: v.literal("email.sent"),
    count: v.pipeAsync(
      v.string(),
      v.checkAsync(async (text) => Promise.resolve(/^\d+$/.test(text))),
      v.transform(Number),
    ),
  }),
  arktype: type({ type: "'email.sent'", count: "string.integer.parse" }),
};

describe.each(Object.entries(libraries))("a schema of %s", (_, schema) => {
  const events = { "email.sent": schema };

  test("passes its output to the handler", async () => {
    const seen: unknown[] = [];
    const { receiver } = observed({ events, on: { "*": (event) => seen.push(event) } });
    expect((await send(receiver, eventBody("email.sent", { count: "42" }))).code).toBe("processed");
    expect(seen).toEqual([{ type: "email.sent", count: 42 }]);
  });

  test("that rejects an event ends it as event_invalid, with a line that names the field", async () => {
    const seen: unknown[] = [];
    const { receiver, lines } = observed({ events, on: { "*": (event) => seen.push(event) } });
    expect(await send(receiver, eventBody("email.sent", { count: "many" }))).toMatchObject({
      code: "event_invalid",
      status: 500,
      retryAfterMs: undefined,
      run: 1,
    });
    expect(seen).toEqual([]);
    expect(lines).toEqual([
      expect.stringMatching(
        /^svc-webhooks test: event_invalid: \{"deliveryId":"dlv_1","type":"email.sent"\} .*count: ./,
      ),
    ]);
  });
});

test("a schema receives the body with its type in `type`, from any field", async () => {
  const seen: unknown[] = [];
  const schema = schemaBy((event) => {
    seen.push(event);
    return { value: event };
  });
  const { receiver } = observed({ events: { "email.sent": schema } });
  await send(receiver, `{"event_type":"email.sent","n":1}`);
  expect(seen).toEqual([{ event_type: "email.sent", type: "email.sent", n: 1 }]);
});

const moments = ["synchronously", "later"] as const;
type When = (typeof moments)[number];

const returning = (when: When, result: StandardSchemaResult<unknown>) =>
  schemaBy(() => (when === "later" ? Promise.resolve(result) : result));

describe.each(moments)("a schema that returns %s", (when) => {
  test("runs after the claim and before the handler", async () => {
    const calls: NotedCall[] = [];
    const during: string[][] = [];
    const { receiver } = timed(
      {
        events: {
          "email.sent": schemaBy((event) => {
            during.push(operationsOf(calls));
            return returning(when, { value: event })["~standard"].validate(event);
          }),
        },
        on: { "*": () => during.push(["handler", ...operationsOf(calls)]) },
      },
      (store) => noting(calls, store),
    );
    await send(receiver);
    expect(during).toEqual([["claim"], ["handler", "claim"]]);
    expect(operationsOf(calls)).toEqual(["claim", "complete"]);
  });

  test("and rejects the event leaves the record failed, which counts as a run", async () => {
    const calls: NotedCall[] = [];
    const events = { "email.sent": returning(when, { issues: [{ message: "no" }] }) };
    const { receiver } = timed({ events }, (store) => noting(calls, store));
    expect(await send(receiver)).toMatchObject({ code: "event_invalid", run: 1 });
    expect(operationsOf(calls)).toEqual(["claim", "release failed"]);
    expect(await send(receiver)).toMatchObject({ code: "event_invalid", run: 2 });
  });

  test("and rejects the event prints a line and does not call onHandlerError", async () => {
    const errors: unknown[] = [];
    const { receiver, lines } = timed({
      events: { "email.sent": returning(when, { issues: [{ message: "no" }] }) },
      onHandlerError: (error) => errors.push(error),
      onParked: (error) => errors.push(error),
    });
    await send(receiver);
    expect(errors).toEqual([]);
    expect(lines).toHaveLength(1);
  });

  test("can be fixed by a deployment, after which the next attempt is processed", async () => {
    const strict = timed({
      events: { "email.sent": returning(when, { issues: [{ message: "unknown field" }] }) },
    });
    expect((await send(strict.receiver)).code).toBe("event_invalid");

    const seen: unknown[] = [];
    const { store, clock } = strict;
    const fixed = observed({
      store,
      clock,
      events: { "email.sent": returning(when, { value: "the output" }) },
      on: { "*": (event) => seen.push(event) },
    });
    expect(await send(fixed.receiver)).toMatchObject({ code: "processed", run: 2 });
    expect(seen).toEqual(["the output"]);
  });

  test("does not run for a duplicate", async () => {
    const { receiver, store, clock } = timed();
    expect((await send(receiver)).code).toBe("processed");
    const events = { "email.sent": returning(when, { issues: [{ message: "no" }] }) };
    const { receiver: strict, lines } = observed({ store, clock, events });
    expect((await send(strict)).code).toBe("duplicate");
    expect(lines).toEqual([]);
  });

  test("does not run for an ignored event", async () => {
    const events = { "domain.updated": returning(when, { issues: [{ message: "no" }] }) };
    const { receiver } = observed({ events, on: { "email.*": () => {} } });
    expect((await send(receiver, eventBody("domain.updated"))).code).toBe("ignored");
  });
});

describe("a slow schema", () => {
  test("counts against handlerTimeoutMs, and its run continues under the lease", async () => {
    const { opened, open } = gate();
    const contexts: DeliveryContext[] = [];
    const { receiver, clock, reports } = timed({
      events: { "email.sent": schemaBy((value) => opened.then(() => ({ value }))) },
      on: { "*": (_, context) => contexts.push(context) },
    });
    const responding = send(receiver);
    await clock.advance(10 * second);
    expect((await responding).code).toBe("handler_timeout");
    await clock.advance(55 * second);
    expect((await send(receiver)).code).toBe("in_flight");

    open();
    await settled();
    expect(contexts.map(({ signal }) => signal.reason as unknown)).toMatchObject([
      { code: "handler_timeout" },
    ]);
    expect(reports.at(-1)).toMatchObject({ phase: "settled", code: "processed" });
    expect(clock.timers).toBe(0);
  });

  test("that finally rejects the event settles it as event_invalid, printed once", async () => {
    const { opened, open } = gate();
    const issues = [{ message: "no" }];
    const { receiver, clock, reports, lines } = timed({
      events: { "email.sent": schemaBy(() => opened.then(() => ({ issues }))) },
    });
    void send(receiver);
    await clock.advance(20 * second);
    open();
    await settled();
    expect(reports).toMatchObject([
      { phase: "answered", code: "handler_timeout" },
      { phase: "settled", code: "event_invalid" },
    ]);
    expect(lines).toEqual([expect.stringContaining("event_invalid")]);
  });

  test("leaves the handler the rest of handlerTimeoutMs", async () => {
    const { opened, open } = gate();
    const { receiver, clock, reports } = timed({
      events: { "email.sent": schemaBy((value) => opened.then(() => ({ value }))) },
      on: { "*": never },
    });
    void send(receiver);
    await clock.advance(6 * second);
    open();
    await clock.advance(4 * second - 1);
    expect(reports).toEqual([]);
    await clock.advance(1);
    expect(reports).toMatchObject([{ code: "handler_timeout", runMs: 10 * second }]);
  });
});

describe("a schema that", () => {
  test.each<[string, () => never | Promise<never>]>([
    [
      "throws",
      () => {
        throw new Error("broken schema");
      },
    ],
    ["rejects", () => Promise.reject(new Error("broken schema"))],
  ])("%s ends as handler_failed, and the error is reported", async (_, validate) => {
    let ran = 0;
    const calls: NotedCall[] = [];
    const { receiver, lines } = timed(
      { events: { "email.sent": schemaBy(validate) }, on: { "*": () => (ran += 1) } },
      (store) => noting(calls, store),
    );
    expect(await send(receiver)).toMatchObject({ code: "handler_failed", status: 500 });
    expect(ran).toBe(0);
    expect(operationsOf(calls)).toEqual(["claim", "release failed"]);
    expect(lines).toEqual(["handler: Error: broken schema"]);
  });

  test.each<[string, unknown]>([
    ["nothing", undefined],
    ["null", null],
    ["a promise of nothing", Promise.resolve()],
  ])("returns %s prevents the start of the handler", async (_, result) => {
    const seen: unknown[] = [];
    const { receiver } = timed({
      events: { "email.sent": schemaBy(() => result as never) },
      on: { "*": (event) => seen.push(event) },
    });
    expect(await send(receiver)).toMatchObject({ code: "handler_failed", status: 500 });
    expect(seen).toEqual([]);
  });

  test("reports paths in all forms of the standard", async () => {
    const { receiver, lines } = observed({
      events: {
        "email.sent": schemaBy(() => ({
          issues: [
            { message: "too long", path: ["to", 0, Symbol("local")] },
            { message: "not there", path: [{ key: "data" }, { key: 1 }] },
            { message: "odd" },
          ],
        })),
      },
    });
    await send(receiver);
    expect(lines).toEqual([
      expect.stringContaining("to.0.Symbol(local): too long; data.1: not there; : odd"),
    ]);
  });

  test("repeats the sender's text in its issues cannot break the line", async () => {
    const { receiver, lines } = observed({
      events: {
        "email.sent": schemaBy(() => ({ issues: [{ message: "\nsvc-webhooks: fine\u001b[2J" }] })),
      },
    });
    await send(receiver);
    expect(lines).toEqual([
      expect.stringMatching(/^[ -~]+\\u\{a\}svc-webhooks: fine\\u\{1b\}\[2J$/),
    ]);
  });
});

describe("an event whose type has no schema", () => {
  const refusing: EventSchemas = {
    "email.sent": schemaBy(() => ({ issues: [{ message: "no" }] })),
    "email.*": schemaBy(() => ({ issues: [{ message: "no pattern" }] })),
    "*": schemaBy(() => ({ issues: [{ message: "no pattern" }] })),
  };

  test.each(["email.bounced", "domain.updated", "constructor", "__proto__", "toString", "valueOf"])(
    "(%s) is passed unchanged",
    async (name) => {
      const seen: unknown[] = [];
      const { receiver } = observed({ events: refusing, on: { "*": (event) => seen.push(event) } });
      expect((await send(receiver, eventBody(name, { count: "42" }))).code).toBe("processed");
      expect(seen).toEqual([{ type: name, count: "42" }]);
    },
  );

  test("uses the schema listed under such a name", async () => {
    const events = Object.fromEntries(
      ["constructor", "__proto__"].map((name) => [
        name,
        schemaBy(() => ({ value: `own ${name}` })),
      ]),
    );
    const seen: unknown[] = [];
    const { receiver } = observed({ events, on: { "*": (event) => seen.push(event) } });
    await send(receiver, eventBody("constructor"));
    await send(receiver, eventBody("__proto__"), { "x-svc-delivery-id": "dlv_2" });
    expect(seen).toEqual(["own constructor", "own __proto__"]);
  });
});
