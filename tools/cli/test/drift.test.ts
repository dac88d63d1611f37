import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { fixture } from "@svc-webhooks/testing";
import { describe, expect, test } from "vitest";
import type { Row } from "../src/drift/report.js";
import { captureFile, captureLine, type CaptureParts } from "./capturing.js";
import { cli, newFile } from "./support.js";

interface Result {
  readonly code: number | null;
  readonly drift: readonly Row[];
  readonly unchecked: readonly string[];
  readonly deliveries: number;
  readonly skipped: number;
}

async function driftOf(args: readonly string[]): Promise<Result> {
  const { code, stdout, stderr } = await cli(["drift", ...args, "--json"]);
  if (stdout === "") throw new Error(stderr);
  return { code, ...(JSON.parse(stdout) as Omit<Result, "code">) };
}

const eventFile = (...events: readonly object[]): Promise<string> =>
  captureFile(...events.map((event) => ({ body: JSON.stringify(event) })));

/** Writes a module that exports schemas. Its imports are found as those of this file are. */
function moduleWith(code: string): string {
  const file = newFile("schemas.mjs");
  const resolved = code.replaceAll(/from "([^"]+)"/g, (_all, name: string) => {
    return `from ${JSON.stringify(fileURLToPath(import.meta.resolve(name)))}`;
  });
  writeFileSync(file, resolved);
  return file;
}

/** Returns rows as `change path count/of`. */
const shown = (rows: readonly Row[]): readonly string[] =>
  rows.map(({ change, path = "", count, of }) => `${change} ${path} ${count}/${of}`);

/** The fields of a fixture that the schemas of @svc-webhooks/events declare. */
function declared(n = 1) {
  const { type, data } = fixture("email.sent", {}, n);
  const { message_class: _class, ...rest } = data;
  return { type, data: rest };
}

describe("with the schemas of @svc-webhooks/events", () => {
  test("exits with 0 without drift", async () => {
    const { code, drift } = await driftOf([await eventFile(declared(), declared(2))]);
    expect([code, drift]).toEqual([0, []]);
    const { stdout } = await cli(["drift", await eventFile(declared())]);
    expect(stdout).toBe("No drift in 1 deliveries.\n");
  });

  test("counts new, missing and changed fields, and unknown types", async () => {
    const { type, data } = declared();
    const { subject: _subject, ...rest } = data;
    const file = await eventFile(
      declared(),
      { type, data: { ...rest, title: "x", recipients: { to: [1, "a@b.test", null] } } },
      { type, data: { ...rest, status: 7 }, extra: {} },
      { type: "email.opened", data: {} },
      { data: {} },
    );
    const { code, drift, deliveries } = await driftOf([file]);
    expect([code, deliveries]).toEqual([1, 5]);
    expect(
      drift.map(
        ({ type: of, ...row }) => `${of ?? "-"}: ${shown([{ type: of, ...row }]).join("")}`,
      ),
    ).toEqual([
      "-: unknown_type  1/1",
      "email.opened: unknown_type  1/1",
      "email.sent: changed data.recipients.to[] 1/3",
      "email.sent: changed data.status 1/3",
      "email.sent: missing data.subject 2/3",
      "email.sent: new data.title 1/3",
      "email.sent: new extra 1/3",
    ]);
    expect(drift).toContainEqual({
      type: "email.sent",
      change: "changed",
      path: "data.status",
      expected: "string",
      found: "number",
      count: 1,
      of: 3,
    });
  });

  test("prints no value, and no name that may be one", async () => {
    const { type, data } = declared();
    const names = [
      "ada@corp.io",
      "+15558675309",
      "Ada Lovelace",
      "sk_live_4eC39HqLyjWD",
      "ok_name",
    ];
    const file = await eventFile(
      { type, data: { ...data, ...Object.fromEntries(names.map((name) => [name, "Value9"])) } },
      { type: "ada@corp.io" },
    );
    for (const flags of [[], ["--json"]]) {
      const { stdout, stderr } = await cli(["drift", file, ...flags]);
      expect(stdout + stderr).toContain("data.ok_name");
      expect(stdout + stderr).not.toMatch(/ada|Lovelace|8675309|4eC39|Value9/);
    }
  });

  test("skips what is not genuine or not an object, and says so", async () => {
    const body = JSON.stringify(declared());
    const file = await captureFile(
      { body },
      { body, verdict: "signature_mismatch" },
      { body: "[]" },
      { body: "x" },
    );
    expect(await driftOf([file])).toMatchObject({ code: 0, deliveries: 1, skipped: 3 });
    expect((await cli(["drift", file])).stderr).toMatch(/not a JSON object: 3\.\n/);
  });
});

const events = [
  { type: "a", id: "1", tags: { x: "1", y: "2" }, item: { kind: "p", n: 1 }, list: [{ v: 1 }] },
  {
    type: "a",
    id: "1",
    more: 1,
    tags: { x: 2 },
    item: { kind: "p", n: "1" },
    list: [{ v: 1 }, { w: 1 }],
  },
  { type: "a", tags: {}, item: { kind: "q", s: "s", extra: 1 }, list: [] },
];

describe("with the schemas of a module", () => {
  test.each([
    ["z.object", "z.object"],
    ["z.looseObject", "z.looseObject"],
    ["z.strictObject", "z.strictObject"],
  ])("%s of zod", async (_what, object) => {
    const module = moduleWith(`import { z } from "zod";
      const object = ${object};
      export const events = { a: object({
        type: z.literal("a"), id: z.string(), note: z.string().optional(),
        tags: z.record(z.string(), z.string()),
        item: z.discriminatedUnion("kind", [
          object({ kind: z.literal("p"), n: z.number() }),
          object({ kind: z.literal("q"), s: z.string() }),
        ]),
        list: z.array(object({ v: z.number() })),
      }) };`);
    const { code, drift, unchecked } = await driftOf([
      await eventFile(...events),
      "--schemas",
      module,
    ]);
    expect([code, unchecked]).toEqual([1, []]);
    expect(shown(drift)).toEqual([
      "missing id 1/3",
      "new item.extra 1/3",
      "changed item.n 1/3",
      "missing list[].v 1/3",
      "new list[].w 1/3",
      "new more 1/3",
      "changed tags{} 1/3",
    ]);
  });

  const simple = [
    { type: "a", id: "1", data: { n: 1 } },
    { type: "a", id: 1, data: { n: 1, m: 2 }, extra: 1 },
    { type: "a", data: { n: 1 } },
  ];
  const all = ["new data.m 1/3", "new extra 1/3", "changed id 1/3", "missing id 1/3"];

  test.each([
    [
      "zod with a date",
      'import { z } from "zod"; export default { a: z.object({ type: z.literal("a"), id: z.string(), at: z.date().optional(), data: z.object({ n: z.number() }) }) };',
      all,
      [],
    ],
    [
      "valibot, strict",
      'import * as v from "valibot"; export default { a: v.strictObject({ type: v.literal("a"), id: v.string(), data: v.strictObject({ n: v.number() }) }) };',
      all,
      [],
    ],
    [
      "valibot, which leaves out",
      'import * as v from "valibot"; export default { a: v.object({ type: v.literal("a"), id: v.string(), data: v.object({ n: v.number() }) }) };',
      ["changed id 1/3", "missing id 1/3"],
      [],
    ],
    [
      "valibot, loose",
      'import * as v from "valibot"; export default { a: v.looseObject({ type: v.literal("a"), id: v.string(), data: v.looseObject({ n: v.number() }) }) };',
      ["changed id 1/3", "missing id 1/3"],
      ["a"],
    ],
    [
      "arktype",
      'import { type } from "arktype"; export default { a: type({ type: "\'a\'", id: "string", data: { n: "number" } }) };',
      all,
      [],
    ],
    [
      "one schema by type",
      'import { z } from "zod"; const a = z.object({ type: z.string(), id: z.string(), data: z.object({ n: z.number() }) }); export { a };',
      all,
      [],
    ],
  ])("%s", async (_what, code, rows, unchecked) => {
    const result = await driftOf([await eventFile(...simple), "--schemas", moduleWith(code)]);
    expect(result.code).toBe(1);
    expect(result.unchecked).toEqual(unchecked);
    expect(shown(result.drift).toSorted()).toEqual(rows.toSorted());
  });

  test("valibot, which leaves out, finds the new fields of valid events", async () => {
    const module = moduleWith(
      'import * as v from "valibot"; export const events = { a: v.object({ type: v.literal("a"), data: v.object({ n: v.number() }) }) };',
    );
    const file = await eventFile({ type: "a", data: { n: 1, m: 2 }, extra: 1 });
    const { drift } = await driftOf([file, "--schemas", module]);
    expect(shown(drift)).toEqual(["new data.m 1/1", "new extra 1/1"]);
  });

  test("a field with the name of a member that every object has is missing", async () => {
    const module = moduleWith(
      'import * as v from "valibot"; export const events = { a: v.object({ type: v.string(), data: v.object({ constructor: v.string(), toString: v.string() }) }) };',
    );
    const file = await eventFile({ type: "a", data: {} }, { type: "constructor" });
    const { drift } = await driftOf([file, "--schemas", module]);
    expect(shown(drift)).toEqual([
      "missing data.constructor 1/1",
      "missing data.toString 1/1",
      "unknown_type  1/1",
    ]);
  });

  test("a field is missing even if the schema accepts anything in its place", async () => {
    const module = moduleWith(
      'import { z } from "zod"; export const events = { a: z.object({ type: z.literal("a"), data: z.object({ n: z.number() }).catch({ n: 0 }) }) };',
    );
    const { drift } = await driftOf([
      await eventFile({ type: "a", data: {} }),
      "--schemas",
      module,
    ]);
    expect(shown(drift)).toEqual(["missing data.n 1/1"]);
  });

  test("a value that only the schema itself refuses has changed", async () => {
    const module = moduleWith(
      'import { z } from "zod"; export const events = { a: z.object({ type: z.literal("a"), at: z.iso.datetime(), e: z.enum(["x", "y"]) }) };',
    );
    const file = await eventFile({ type: "a", at: "yesterday", e: "z" });
    const { drift } = await driftOf([file, "--schemas", module]);
    expect(drift).toMatchObject([
      { path: "at", change: "changed", found: "string" },
      { path: "e", change: "changed", expected: "one of 2 values", found: "another string" },
    ]);
  });

  test("an entry of a map with patterns is reported once, without its name", async () => {
    const module = moduleWith(`
      const entries = { type: "object", patternProperties: { "^S_": { type: "number" } } };
      const validate = ({ m }) =>
        m.S_a === 1 ? { value: { m } } : { issues: [{ message: "wrong", path: ["m", "S_a"] }] };
      const jsonSchema = { input: () => ({ type: "object", properties: { type: {}, m: entries } }) };
      export const a = { "~standard": { version: 1, vendor: "test", validate, jsonSchema } };`);
    const { drift } = await driftOf([
      await eventFile({ type: "a", m: { S_a: "x" } }),
      "--schemas",
      module,
    ]);
    expect(shown(drift)).toEqual(["changed m{} 1/1"]);
  });

  const patternProperties = (pattern: string) => `
    const validate = (value) => ({ value });
    const properties = { type: {} };
    const patternProperties = { [${JSON.stringify(pattern)}]: { type: "string" } };
    const input = () => ({ type: "object", properties, patternProperties });
    const standard = { version: 1, vendor: "test", validate, jsonSchema: { input } };
    export const a = { "~standard": standard };`;

  test("a pattern may be one that only works without the flag u", async () => {
    const module = moduleWith(patternProperties(String.raw`^[\w-.]+$`));
    const { drift } = await driftOf([await eventFile({ type: "a", m: 1 }), "--schemas", module]);
    expect(shown(drift)).toEqual(["changed {} 1/1"]);
  });

  test("a pattern that is not a regular expression is wrong usage", async () => {
    const module = moduleWith(patternProperties("^(S_"));
    const file = await eventFile({ type: "a", m: 1 });
    const { code, stderr } = await cli(["drift", file, "--schemas", module]);
    expect(code).toBe(2);
    expect(stderr).toContain(`--schemas ${module} has the pattern "^(S_"`);
  });

  test.each([
    ["without a JSON Schema", "value"],
    ["that fails to validate it", "JSON.parse(JSON.stringify(value))"],
  ])("an event that is nested too deeply for a schema %s is skipped", async (_what, output) => {
    const module = moduleWith(
      `export const a = { "~standard": { version: 1, vendor: "test", validate: (value) => ({ value: ${output} }) } };`,
    );
    const body = `{"type":"a","x":${'{"a":'.repeat(20_000)}1${"}".repeat(20_002)}`.slice(0, -1);
    const file = await captureFile({ body }, { body: '{"type":"a"}' });
    expect(await driftOf([file, "--schemas", module])).toMatchObject({
      code: 0,
      deliveries: 1,
      skipped: 1,
    });
    const { stderr } = await cli(["drift", file, "--schemas", module]);
    expect(stderr).toMatch(/nested too deeply/);
  });

  test.each([
    ["a module that does not exist", 2, "/no/module.mjs", /does not exist\. .*createReceiver/],
    [
      "a module that throws",
      1,
      "throw new Error('no database');",
      /cannot be imported: no database\./,
    ],
    ["a module without schemas", 2, "export const x = 1;", /exports no schemas\. .*events/],
  ])("%s is refused", async (_what, expected, module, message) => {
    const path = module.startsWith("/no/") ? module : moduleWith(module);
    const file = await eventFile(declared());
    const { code, stderr } = await cli(["drift", file, "--schemas", path]);
    expect([code, stderr]).toEqual([expected, expect.stringMatching(message)]);
  });
});

test("reads the .jsonl files of a folder", async () => {
  const folder = newFile("captures");
  mkdirSync(folder);
  const parts: CaptureParts = { body: JSON.stringify(declared()) };
  for (const name of ["a.jsonl", "b.jsonl"])
    writeFileSync(join(folder, name), await captureLine(parts));
  writeFileSync(join(folder, "notes.txt"), "not a capture");
  expect(await driftOf([folder])).toMatchObject({ code: 0, deliveries: 2 });
});

test("a redacted file has the same drift", async () => {
  const file = await eventFile(declared(), { ...declared(), extra: "ada@corp.io" });
  const out = newFile("fixtures");
  await cli(["redact", file, "--out", out]);
  const redacted = join(out, "deliveries.jsonl");
  expect(readFileSync(redacted, "utf8")).not.toBe(readFileSync(file, "utf8"));
  expect((await driftOf([redacted])).drift).toEqual((await driftOf([file])).drift);
});

test("uses the type of another sender", async () => {
  const headers = [["X-GitHub-Event", "issues"]] as const;
  const file = await captureFile({ body: '{"action":"opened"}', headers });
  const { drift } = await driftOf([file, "--scheme", "github"]);
  expect(drift).toMatchObject([{ type: "issues.opened", change: "unknown_type" }]);
});

test("uses the type in the body of a sender that has none in its headers", async () => {
  const file = await captureFile({ body: '{"id":"evt_1","type":"invoice.paid"}' });
  const { drift } = await driftOf([file, "--scheme", "stripe"]);
  expect(drift).toMatchObject([{ type: "invoice.paid", change: "unknown_type" }]);
});

test.each([
  ["no file", [], /<file> is missing/],
  ["a file that does not exist", ["/no/file"], /cannot be read/],
  ["a folder without captures", [newFolder], /no \.jsonl file/],
  ["a file of something else", [otherFile], /Line 1 of \S+ is not a request/],
] as const)("%s is wrong usage", async (_what, args, message) => {
  const given = args.map((one) => (typeof one === "string" ? one : one()));
  const { code, stderr } = await cli(["drift", ...given]);
  expect([code, stderr]).toEqual([2, expect.stringMatching(message)]);
});

function newFolder(): string {
  const folder = newFile("empty");
  mkdirSync(folder);
  return folder;
}

function otherFile(): string {
  const file = newFile("other.jsonl");
  writeFileSync(file, "{}\n");
  return file;
}

test("only forgeries are nothing to compare", async () => {
  const file = await captureFile({ body: "{}", verdict: "signature_mismatch" });
  const { code, stderr } = await cli(["drift", file]);
  expect([code, stderr]).toEqual([2, expect.stringContaining("no genuine request")]);
});
