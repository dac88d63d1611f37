import { verify } from "@svc-webhooks/core";
import { service } from "@svc-webhooks/schemes/senders";
import fc from "fast-check";
import { expect, test } from "vitest";
import { z } from "zod";
import { comparisonWith } from "../src/drift/compare.js";
import { vocabularyOf } from "../src/drift/vocabulary.js";
import { createFixtures } from "../src/redact/fixtures.js";
import { createRedactor } from "../src/redact/redactor.js";
import { visible } from "./visible.js";

const key = fc.uint8Array({ minLength: 32, maxLength: 32 });

/** Texts that no other one contains by chance. */
const planted = fc
  .tuple(fc.stringMatching(/^[a-z]{8}$/), fc.constantFrom(" ", "@", "/", "%", "=", "7", "\n"))
  .map(([text, mark]) => text + mark + text);

/**
 * Numbers too long to be a time that no substitute contains by chance. A substitute is a smaller number of as many
 * digits: few exist just above a power of ten, where fast-check draws often if it is the minimum.
 */
const integer = fc.integer({ min: 2e14, max: Number.MAX_SAFE_INTEGER });

/** Random JSON in which each text and each name is a planted one or the name of a field. */
const payload = fc.letrec((tie) => ({
  value: fc.oneof(
    { maxDepth: 5 },
    planted,
    planted.map((text) => JSON.stringify([{ x: text }])),
    planted.map((text) => Buffer.from(text).toString("base64")),
    integer,
    fc.boolean(),
    fc.constant(null),
    fc.array(tie("value"), { maxLength: 4 }),
    fc.dictionary(fc.constantFrom("id", "status", "createdAt", "line_1"), tie("value")),
    fc.dictionary(planted, tie("value"), { maxKeys: 4 }),
  ),
})).value;

/** Returns the texts and the numbers in a value, and the names of its entries. */
function dataIn(value: unknown): readonly string[] {
  if (typeof value === "number") return [String(value)];
  if (typeof value === "string") return value.match(/[a-z]{8}/g) ?? [];
  if (typeof value !== "object" || value === null) return [];
  return Object.entries(value).flatMap(([name, one]) => [
    ...(Array.isArray(value) ? [] : (name.match(/^[a-z]{8}(?=[^a-z])/g) ?? [])),
    ...dataIn(one),
  ]);
}

/** Returns the types of JSON in a value, in their order, and the names of fields. */
function shapeOf(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(shapeOf);
  if (typeof value !== "object" || value === null) return value === null ? "null" : typeof value;
  return Object.values(value).map(shapeOf);
}

test("random events keep their structure, verify, and keep nothing else", async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(payload), fc.boolean(), key, async (data, isSpaced, bytes) => {
      const body = JSON.stringify({ type: "email.sent", data }, null, isSpaced ? 2 : 0);
      const captured = {
        at: "2026-11-26T10:00:00.000Z",
        method: "POST",
        path: "/",
        headers: [["X-SVC-Signature", "sha256=old"]] as const,
        body: Buffer.from(body),
        verdict: "genuine",
      };
      const make = () => createFixtures(service, createRedactor({ key: bytes })).make(captured);
      const fixture = await make();
      if (typeof fixture === "string") throw new Error(fixture);
      expect(await make()).toEqual(fixture);
      const signature = fixture.headers[0]?.[1];
      expect(await verify(fixture.body, signature, "whsec_test")).toMatchObject({ ok: true });
      const after = JSON.parse(fixture.body.toString()) as unknown;
      expect(shapeOf(after)).toEqual(shapeOf(JSON.parse(body)));
      const seen = visible(fixture.body.toString());
      expect(dataIn(data).filter((text) => seen.includes(text))).toEqual([]);
    }),
    { numRuns: 300 },
  );
});

test("any JSON stays JSON with the same structure, whatever its texts", () => {
  fc.assert(
    fc.property(fc.json({ maxDepth: 4 }), fc.string({ unit: "binary" }), (json, text) => {
      const body = `[${json},${JSON.stringify(text)}]`;
      const after: unknown = JSON.parse(createRedactor().json(body));
      expect(shapeOf(after)).toEqual(shapeOf(JSON.parse(body)));
    }),
    { numRuns: 300 },
  );
});

const states = ["past_due", "paid", "7 days"] as const;

/** A schema that checks more than the types of JSON. */
const invoice = z.object({
  type: z.literal("invoice.paid"),
  id: z.uuid(),
  state: z.enum(states),
  created_at: z.iso.datetime(),
  due: z.iso.date(),
  email: z.email(),
  link: z.url(),
  ip: z.ipv4(),
  phone: z.string().regex(/^\+[1-9]\d{6,14}$/),
  amount: z.int().min(0).max(100_000),
  latitude: z.number().min(-90).max(90),
  lines: z.array(z.object({ text: z.string().min(1).max(40), level: z.literal([1, 2, 3]) })),
  by_email: z.record(z.email(), z.strictObject({ count: z.int(), state: z.enum(states) })),
});

const state = fc.constantFrom(...states);
const moment = fc.date({ noInvalidDate: true, min: new Date(0), max: new Date(4e12) });
const email = fc
  .tuple(fc.stringMatching(/^[a-z]{3,9}$/), fc.stringMatching(/^[a-z]{3,9}$/))
  .map(([local, domain]) => `${local}@${domain}.io`);

/** A text without an address, whose substitute may be longer than the schema allows. */
const prose = fc.string({ minLength: 1, maxLength: 40 }).filter((text) => !/[@:]/.test(text));

const invoices = fc.record({
  type: fc.constant("invoice.paid"),
  id: fc.uuid(),
  state,
  created_at: moment.map((one) => one.toISOString()),
  due: moment.map((one) => one.toISOString().slice(0, 10)),
  email,
  link: fc.webUrl(),
  ip: fc.ipV4(),
  phone: fc.stringMatching(/^\+[1-9]\d{6,14}$/),
  amount: fc.nat(100_000),
  latitude: fc.double({ min: -90, max: 90, noNaN: true }),
  lines: fc.array(
    fc.record({
      text: prose,
      level: fc.constantFrom(1, 2, 3),
    }),
  ),
  by_email: fc.dictionary(email, fc.record({ count: fc.nat(), state })),
});

test("drift reports nothing for a fixture of an event without drift", async () => {
  const vocabulary = vocabularyOf({ byType: new Map([["invoice.paid", invoice]]) });
  const compare = comparisonWith(invoice, false);
  await fc.assert(
    fc.asyncProperty(invoices, key, async (event, bytes) => {
      expect((await compare(event))?.differences).toEqual([]);
      const redactor = createRedactor({ key: bytes, vocabulary });
      const after: unknown = JSON.parse(redactor.json(JSON.stringify(event)));
      expect((await compare(after))?.differences).toEqual([]);
      expect(after).not.toMatchObject({ email: event.email });
    }),
    { numRuns: 300 },
  );
});
