import { eventBody } from "@svc-webhooks/kit/deliveries";
import { gate } from "@svc-webhooks/kit/gate";
import { settled } from "@svc-webhooks/kit/settled";
import { type } from "arktype";
import * as v from "valibot";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import type { EventSchemas, StandardSchemaResult } from "../src/index.js";
import { bothWays, gated, observed, schemaBy, second, send, timed } from "./support.js";

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
        /^svc-webhooks test: event_invalid: \{"deliveryId":"dlv_1","type":"email.sent","run":1\} .*count: ./,
      ),
    ]);
  });
});

test("the result of a schema may be a thenable whose `then` returns nothing", async () => {
  const schema = schemaBy((value) => {
    const then = (use: (result: { value: unknown }) => unknown) => {
      use({ value });
    };
    // oxlint-disable-next-line unicorn/no-thenable
    return { then } as never;
  });
  const { opened, open } = gate();
  const { receiver, operations } = timed({
    events: { "email.sent": schema },
    on: { "*": () => opened },
  });
  const responding = send(receiver);
  await settled();
  expect(operations()).toEqual(["claim"]);
  open();
  expect((await responding).code).toBe("processed");
  expect(operations()).toEqual(["claim", "complete"]);
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

describe.each(moments)("a schema that returns %s", (when) => {
  const returning = (result: StandardSchemaResult<unknown>): EventSchemas => ({
    "email.sent": schemaBy(() => (when === "later" ? Promise.resolve(result) : result)),
  });
  const rejecting = returning({ issues: [{ message: "no" }] });

  test("runs after the claim and before the handler", async () => {
    const during: string[][] = [];
    const schema = schemaBy((value) => {
      during.push(bench.operations());
      return when === "later" ? Promise.resolve({ value }) : { value };
    });
    const bench = timed({
      events: { "email.sent": schema },
      on: { "*": () => during.push(["handler", ...bench.operations()]) },
    });
    await send(bench.receiver);
    expect(during).toEqual([["claim"], ["handler", "claim"]]);
    expect(bench.operations()).toEqual(["claim", "complete"]);
  });

  test("and rejects the event leaves the record failed, which counts as a run", async () => {
    const errors: unknown[] = [];
    const onParked = (error: unknown) => errors.push(error);
    const { receiver, lines, operations } = timed({ events: rejecting, onParked });
    expect(await send(receiver)).toMatchObject({ code: "event_invalid", run: 1 });
    expect(operations()).toEqual(["claim", "release failed"]);
    // An error of the handler would be logged too.
    expect({ lines: lines.length, errors }).toEqual({ lines: 1, errors: [] });
    expect(await send(receiver)).toMatchObject({ code: "event_invalid", run: 2 });
  });

  test("can be fixed by a deployment, after which the next attempt is processed", async () => {
    const { receiver, store, clock } = timed({ events: rejecting });
    expect((await send(receiver)).code).toBe("event_invalid");
    const seen: unknown[] = [];
    const events = returning({ value: "the output" });
    const fixed = observed({ store, clock, events, on: { "*": (event) => seen.push(event) } });
    expect(await send(fixed.receiver)).toMatchObject({ code: "processed", run: 2 });
    expect(seen).toEqual(["the output"]);
  });

  test("does not run for a duplicate", async () => {
    const { receiver, store, clock } = timed();
    expect((await send(receiver)).code).toBe("processed");
    const { receiver: strict, lines } = observed({ store, clock, events: rejecting });
    expect((await send(strict)).code).toBe("duplicate");
    expect(lines).toEqual([]);
  });

  test("does not run for an ignored event", async () => {
    const { receiver } = observed({ events: rejecting, on: { "domain.*": () => {} } });
    expect((await send(receiver)).code).toBe("ignored");
  });
});

describe("a slow schema", () => {
  /** A gated receiver whose schema waits for `decide`. */
  function deciding() {
    const { opened, open } = gate<StandardSchemaResult<unknown>>();
    const bench = gated({ events: { "email.sent": schemaBy(() => opened) } });
    const decide = (result: StandardSchemaResult<unknown>) => {
      open(result);
      return settled();
    };
    return { ...bench, decide };
  }

  test("counts against handlerTimeoutMs, and its run continues under the lease", async () => {
    const { receiver, clock, reports, contexts, decide, finish } = deciding();
    const responding = send(receiver);
    await clock.advance(10 * second);
    expect((await responding).code).toBe("handler_timeout");
    await clock.advance(55 * second);
    expect((await send(receiver)).code).toBe("in_flight");

    await decide({ value: {} });
    expect(contexts).toMatchObject([{ signal: { reason: { code: "handler_timeout" } } }]);
    await finish();
    expect(reports.at(-1)).toMatchObject({ phase: "settled", code: "processed" });
    expect(clock.timers).toBe(0);
  });

  test("that finally rejects the event settles it as event_invalid, printed once", async () => {
    const { receiver, clock, reports, lines, decide } = deciding();
    void send(receiver);
    await clock.advance(20 * second);
    await decide({ issues: [{ message: "no" }] });
    expect(reports).toMatchObject([
      { phase: "answered", code: "handler_timeout" },
      { phase: "settled", code: "event_invalid" },
    ]);
    expect(lines).toEqual([
      expect.stringContaining("handler_timeout"),
      expect.stringContaining("event_invalid"),
    ]);
  });

  test("leaves the handler the rest of handlerTimeoutMs", async () => {
    const { receiver, clock, reports, decide } = deciding();
    void send(receiver);
    await clock.advance(6 * second);
    await decide({ value: {} });
    await clock.advance(4 * second - 1);
    expect(reports).toEqual([]);
    await clock.advance(1);
    expect(reports).toMatchObject([{ code: "handler_timeout", runMs: 10 * second }]);
  });
});

describe("a schema that", () => {
  test.each(bothWays(new Error("broken schema")))(
    "%s ends as handler_failed, and the error is reported",
    async (_, validate) => {
      const { receiver, lines, contexts, operations } = gated({
        events: { "email.sent": schemaBy(validate) },
      });
      expect(await send(receiver)).toMatchObject({ code: "handler_failed", status: 500 });
      expect(contexts).toEqual([]);
      expect(operations()).toEqual(["claim", "release failed"]);
      expect(lines).toEqual(["handler: Error: broken schema"]);
    },
  );

  test.each<[string, unknown]>([
    ["nothing", undefined],
    ["null", null],
    ["a promise of nothing", Promise.resolve()],
  ])("returns %s prevents the start of the handler", async (_, result) => {
    const events = { "email.sent": schemaBy(() => result as never) };
    const { receiver, contexts } = gated({ events });
    expect(await send(receiver)).toMatchObject({ code: "handler_failed", status: 500 });
    expect(contexts).toEqual([]);
  });

  test.each([
    [
      "contains paths in all forms of the standard",
      [
        { message: "too long", path: ["to", 0, Symbol("local")] },
        { message: "not there", path: [{ key: "data" }, { key: 1 }] },
        { message: "odd" },
      ],
      /to\.0\.Symbol\(local\): too long; data\.1: not there; : odd/,
    ],
    [
      "cannot be broken by the sender's text in an issue",
      [{ message: "\nsvc-webhooks: fine\u001b[2J" }],
      /^[ -~]+\\u\{a\}svc-webhooks: fine\\u\{1b\}\[2J$/,
    ],
  ])("rejects an event prints a line that %s", async (_, issues, line) => {
    const { receiver, lines } = observed({
      events: { "email.sent": schemaBy(() => ({ issues })) },
    });
    await send(receiver);
    expect(lines).toEqual([expect.stringMatching(line)]);
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
