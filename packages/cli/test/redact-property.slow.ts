import { verify } from "@svc-webhooks/core";
import fc from "fast-check";
import { expect, test } from "vitest";
import { z } from "zod";
import { createFixtures } from "../src/redact/fixtures.js";
import { createRedactor } from "../src/redact/redactor.js";

/** A sensitive value, the name it stands under (or any name), and the schema that it keeps. */
interface Planted {
  readonly name: string | undefined;
  readonly value: string | number;
  readonly schema: z.ZodType;
}

const oneOf = (characters: string) => fc.constantFrom(...Array.from(characters));
const letters = (minLength: number, maxLength: number) =>
  fc.string({ unit: oneOf("abcdefghijklmnopqrstuvwxyz"), minLength, maxLength });
const digits = (length: number) =>
  fc.string({ unit: oneOf("0123456789"), minLength: length, maxLength: length });
const mixed = (length: number) =>
  fc
    .string({
      unit: oneOf("abcdefghjkmnpqrstuvwxyzABCDEFGHJKMNPQRSTUVWXYZ23456789"),
      minLength: length,
      maxLength: length,
    })
    .filter((text) => /\d/.test(text) && /[a-z]/.test(text) && /[A-Z]/.test(text));

const email = fc
  .tuple(letters(6, 12), letters(6, 12), fc.constantFrom("io", "com", "co.uk"))
  .map(([local, domain, top]) => `${local}@${domain}.${top}`);

const capital = (text: string) => text.charAt(0).toUpperCase() + text.slice(1);
/** Names that no word of a payload resembles. */
const fullName = fc
  .tuple(letters(6, 9), letters(6, 9))
  .map(([first, last]) => `Q${first} X${last}`)
  .map((text) => text.split(" ").map(capital).join(" "));

const luhn = (start: string): string => {
  const sum = Array.from(start).reduceRight((total, digit, index) => {
    const doubled = Number(digit) * ((start.length - index) % 2 === 1 ? 2 : 1);
    return total + (doubled > 9 ? doubled - 9 : doubled);
  }, 0);
  return start + String((10 - (sum % 10)) % 10);
};
const card = digits(11).map((text) => luhn(`4929${text}`));

/** Values that are found by their form, under any name. */
const byForm: fc.Arbitrary<Planted> = fc.oneof(
  email.map((value) => ({ name: undefined, value, schema: z.email() })),
  card.map((value) => ({ name: undefined, value, schema: z.string().regex(/^\d{16}$/) })),
  card.map((value) => ({ name: undefined, value: Number(value), schema: z.int() })),
  mixed(24).map((text) => ({
    name: undefined,
    value: `sk_live_${text}`,
    schema: z.string().regex(/^sk_live_\w{24}$/),
  })),
  mixed(40).map((value) => ({
    name: undefined,
    value,
    schema: z.string().regex(/^[A-Za-z\d]{40}$/),
  })),
  digits(9).map((text) => ({
    name: undefined,
    value: `+49 30 ${text}`,
    schema: z.string().regex(/^\+\d\d \d\d \d{9}$/),
  })),
  fc
    .ipV4()
    .filter((text) => text.length >= 10)
    .map((value) => ({ name: undefined, value, schema: z.ipv4() })),
);

/** Values that are found by the name of their member. */
const byName: fc.Arbitrary<Planted> = fc.oneof(
  fc
    .tuple(fc.constantFrom("name", "fullName", "display_name", "Customer-Name"), fullName)
    .map(([name, value]) => ({
      name,
      value,
      schema: z.string().regex(/^[A-Z][a-z]+ [A-Z][a-z]+$/),
    })),
  fc
    .tuple(fc.constantFrom("password", "apiKey", "access_token", "client-secret"), mixed(12))
    .map(([name, value]) => ({ name, value, schema: z.string().length(12) })),
  fc.tuple(fc.constantFrom("phone", "mobileNumber", "fax"), digits(10)).map(([name, text]) => ({
    name,
    value: Number(`1${text}`),
    schema: z.int().gte(10_000_000_000),
  })),
);

type Place = (planted: Planted, index: number) => unknown;

/** The ways in which a value is put into a payload. */
const places: readonly Place[] = [
  ({ name, value }, index) => ({ [name ?? `field_${index}`]: value }),
  ({ name, value }, index) => ({ [`group_${index}`]: [{ [name ?? "x"]: [value] }] }),
  ({ name, value }) => ({ inner: JSON.stringify({ [name ?? "x"]: value }) }),
  ({ name, value }, index) => ({ [name ?? `f${index}`]: value, remark: `see ${value} there` }),
];

/** Further places for values that have a form wherever they are. */
const anyPlaces: readonly Place[] = [
  ({ value }) => ({ t: `before ${value}, after` }),
  ({ value }) => ({ [String(value)]: 1 }),
  ({ value }) => ({ u: `https://x.test/a?q=${encodeURIComponent(value)}` }),
  ({ value }) => ({ e: encodeURIComponent(`<${value}>`) }),
  ({ value }) => ({ b: Buffer.from(`(${value})`).toString("base64") }),
  ({ value }) => ({ h: Buffer.from(`(${value})`).toString("hex") }),
];

const planted = fc.oneof(
  fc.tuple(byName, fc.constantFrom(...places)),
  fc.tuple(byForm, fc.constantFrom(...places)),
  fc.tuple(
    byForm.filter(({ value }) => typeof value === "string"),
    fc.constantFrom(...anyPlaces),
  ),
);

/** Random JSON whose names are none of those with rules. */
const harmless = fc.dictionary(
  letters(1, 3).map((text) => `zz${text}`),
  fc.oneof(
    fc.jsonValue({ maxDepth: 0 }),
    fc.integer(),
    fc
      .date({ noInvalidDate: true, min: new Date(0), max: new Date(4e12) })
      .map((one) => one.toISOString()),
    fc.uuid(),
    fc.boolean(),
  ),
  { maxKeys: 6 },
);

/** Returns all texts in a value, decoded in each way that a reader might try. */
function textsIn(value: unknown): readonly string[] {
  if (typeof value === "string") {
    const decoded = [
      value,
      Buffer.from(value, "base64").toString(),
      Buffer.from(value, "hex").toString(),
    ];
    try {
      decoded.push(decodeURIComponent(value));
    } catch {
      // It is not percent-encoded.
    }
    return decoded;
  }
  if (typeof value !== "object" || value === null) return [String(value)];
  return Object.entries(value).flatMap(([name, one]) => [name, ...textsIn(one)]);
}

/** Returns the shape of a value: its names and types, with sensitive names left out. */
const shapeOf = (value: unknown, known: ReadonlySet<string>): unknown => {
  if (Array.isArray(value)) return value.map((one) => shapeOf(one, known));
  if (typeof value !== "object" || value === null) return typeof value;
  return Object.entries(value).map(([name, one]) => [
    known.has(name) ? "sensitive" : name,
    shapeOf(one, known),
  ]);
};

test("random events keep no planted value, verify, and keep their shape and forms", async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(planted, { minLength: 1, maxLength: 6 }),
      harmless,
      fc.boolean(),
      fc.uint8Array({ minLength: 32, maxLength: 32 }),
      async (all, rest, isSpaced, key) => {
        const event = {
          type: "email.sent",
          data: { ...rest, items: all.map(([one, place], index) => place(one, index)) },
        };
        const text = JSON.stringify(event, null, isSpaced ? 2 : 0);
        const captured = {
          at: "2026-11-26T10:00:00.000Z",
          method: "POST",
          path: "/",
          headers: [["X-SVC-Signature", "sha256=old"]] as const,
          body: Buffer.from(text),
          verdict: "genuine",
        };
        const make = async () => {
          const fixtures = createFixtures(undefined, createRedactor({ key }));
          fixtures.learn(captured);
          const made = await fixtures.make(captured);
          if (typeof made === "string") throw new Error(made);
          return made;
        };
        const made = await make();
        const written = made.body.toString();
        expect((await make()).body).toEqual(made.body);
        expect(await verify(made.body, made.headers[0]?.[1], "whsec_test")).toMatchObject({
          ok: true,
        });

        const after = JSON.parse(written) as typeof event;
        // JSON has no -0.
        const sent = JSON.parse(text) as typeof event;
        const seen = `${written}\n${textsIn(after).join("\n")}`.toLowerCase();
        for (const [{ value }] of all) expect(seen).not.toContain(String(value).toLowerCase());

        const values = new Set(all.map(([{ value }]) => String(value)));
        const names = new Set(
          after.data.items.flatMap((item, index) =>
            Object.keys(item as object).filter((_name, at) =>
              values.has(Object.keys(event.data.items[index] as object)[at] ?? ""),
            ),
          ),
        );
        expect(shapeOf(after, names)).toEqual(shapeOf(event, values));
        expect({ ...after.data, items: [] }).toEqual({ ...sent.data, items: [] });
        for (const [index, [{ name, schema }, place]] of all.entries()) {
          if (place !== places[0]) continue;
          const item = after.data.items[index] as Record<string, unknown>;
          expect(schema.safeParse(item[name ?? `field_${index}`]).error).toBeUndefined();
        }
      },
    ),
    { numRuns: 100 },
  );
});

test("any JSON stays JSON with the same shape, whatever its texts", () => {
  fc.assert(
    fc.property(fc.json({ maxDepth: 4 }), fc.string({ unit: "binary" }), (json, text) => {
      const redactor = createRedactor();
      const all = `[${json},${JSON.stringify(text)}]`;
      redactor.learn(all);
      const after: unknown = JSON.parse(redactor.json(all));
      expect(countsOf(after)).toEqual(countsOf(JSON.parse(all)));
    }),
    { numRuns: 300 },
  );
});

const twoDigits = (number: number) => String(number).padStart(2, "0");
const birth = fc.record({
  day: fc.integer({ min: 1, max: 28 }),
  month: fc.integer({ min: 1, max: 12 }),
  year: fc.integer({ min: 1905, max: 2020 }),
});
const dateText = z.string().refine((text) => !Number.isNaN(Date.parse(text)));
const checks = ["pass", "fail", "unavailable", "unchecked"] as const;

/** Formats that schemas check beyond the types of JSON. */
const formats = z.object({
  dob: z.object({
    day: z.int().min(1).max(28),
    month: z.int().min(1).max(12),
    year: z.int().min(1900).max(2100),
  }),
  birth_date: dateText,
  birthday: z.stringFormat("date", (text) => {
    const [, year, month, day] = /^(\d{4})(\d\d)(\d\d)$/.exec(text) ?? [];
    return !Number.isNaN(Date.parse(`${year}-${month}-${day}`));
  }),
  birth: z.object({ date: z.iso.date() }),
  card: z.object({
    checks: z.object({ address_line1_check: z.enum(checks), cvc_check: z.enum(checks) }),
  }),
  session_started_at: z.iso.datetime(),
  geometry: z.object({
    type: z.literal("Point"),
    coordinates: z.tuple([z.number().min(-180).max(180), z.number().min(-90).max(90)]),
  }),
  address: z.object({ country: z.string().regex(/^[A-Z]{2}$/) }),
});

test("values that are found by their names keep the formats that schemas check", () => {
  const moment = fc.date({ noInvalidDate: true, min: new Date(0), max: new Date(4e12) });
  const check = fc.constantFrom(...checks);
  fc.assert(
    fc.property(
      birth,
      moment,
      fc.tuple(check, check),
      fc.tuple(
        fc.double({ min: -180, max: 180, noNaN: true }),
        fc.double({ min: -90, max: 90, noNaN: true }),
      ),
      fc.uint8Array({ minLength: 32, maxLength: 32 }),
      (dob, at, [first, second], coordinates, key) => {
        const text = JSON.stringify({
          dob,
          birth_date: `${twoDigits(dob.month)}/${twoDigits(dob.day)}/${dob.year}`,
          birthday: `${dob.year}${twoDigits(dob.month)}${twoDigits(dob.day)}`,
          birth: { date: at.toISOString().slice(0, 10) },
          card: { checks: { address_line1_check: first, cvc_check: second } },
          session_started_at: at.toISOString(),
          geometry: { type: "Point", coordinates },
          address: { country: "FR" },
        });
        expect(formats.safeParse(JSON.parse(text)).error).toBeUndefined();
        const redactor = createRedactor({ key });
        redactor.learn(text);
        const after: unknown = JSON.parse(redactor.json(text));
        expect(formats.safeParse(after).error).toBeUndefined();
        expect(after).not.toMatchObject({ address: { country: "FR" } });
      },
    ),
    { numRuns: 300 },
  );
});

/** Returns how many values of each type there are. */
function countsOf(value: unknown): Readonly<Record<string, number>> {
  const counts: Record<string, number> = {};
  const count = (one: unknown) => {
    const type = Array.isArray(one) ? "array" : one === null ? "null" : typeof one;
    counts[type] = (counts[type] ?? 0) + 1;
    if (typeof one === "object" && one !== null) Object.values(one).forEach(count);
  };
  count(value);
  return counts;
}
