import { describe, expect, test } from "vitest";
import { differencesOf, pathIn, type JsonSchema } from "../src/drift/json-schema.js";

const $ref = "#/$defs/node";
const kinds = ["a", "b"].map((kind): JsonSchema => ({
  type: "object",
  properties: { kind: { const: kind }, child: { $ref } },
  required: ["kind"],
}));
const object = { type: "object", properties: { child: { $ref } } };

/** Unions that contain themselves. */
const unions: Readonly<Record<string, readonly JsonSchema[]>> = {
  "with a discriminator": kinds,
  "of objects": [object, { ...object, required: ["name"] }],
  "of an object and a map": [object, { type: "object", additionalProperties: { $ref } }],
};

const depth = 24;

describe.each(Object.entries(unions))("a recursive union %s", (_what, anyOf) => {
  test("compares each part of an event a few times", () => {
    let reads = 0;
    let event: object = { kind: "c" };
    for (let level = 0; level < depth; level += 1) {
      const child = event;
      event = Object.defineProperty({ kind: level % 2 === 0 ? "a" : "b" }, "child", {
        enumerable: true,
        get() {
          reads += 1;
          if (reads > 100 * depth) throw new Error("compares parts too often");
          return child;
        },
      });
    }
    differencesOf(event, { $ref, $defs: { node: { anyOf } } });
    expect(reads).toBeGreaterThanOrEqual(depth);
  });

  test("is visited a few times for each name of a path", () => {
    let reads = 0;
    const node = Object.defineProperty({}, "anyOf", {
      enumerable: true,
      get() {
        reads += 1;
        if (reads > 100 * depth) throw new Error("visits schemas too often");
        return anyOf;
      },
    });
    const path = Array.from({ length: depth }, () => "child");
    expect(pathIn({ $ref, $defs: { node } }, path)).toEqual(path);
  });
});

test("reports the names of the branch that fits best", () => {
  const node = { anyOf: unions["of an object and a map"] ?? [] };
  const named = {
    properties: { named: { type: "object", properties: { x: { type: "string" } } } },
  };
  const map = { additionalProperties: named.properties.named, required: ["other"] };
  const root = { $defs: { node }, anyOf: [map, named] };
  expect(differencesOf({ named: { x: 1 } }, root)).toMatchObject([{ path: ["named", "x"] }]);
  const reversed = { anyOf: [named, { ...map, required: [] }], required: [] };
  expect(differencesOf({ named: { x: 1 }, ada: { x: "1" } }, reversed)).toMatchObject([
    { path: ["{}", "x"] },
  ]);
});
