import { expect, test } from "vitest";
import { indentJson } from "../../src/lib/indent-json.js";

test.each([
  ["{}", "{}"],
  ["[ [], {} ]", "[\n  [],\n  {}\n]"],
  [
    String.raw`{"a": [1.0, 12345678901234567890], "b": {"c": "{\"d\": [1, 2]}é"}, "e": null}`,
    String.raw`{
  "a": [
    1.0,
    12345678901234567890
  ],
  "b": {
    "c": "{\"d\": [1, 2]}é"
  },
  "e": null
}`,
  ],
])("%s has a line for each member, and the same tokens", (text, expected) => {
  expect(indentJson(text)).toEqual({ text: expected });
});

test.each(["", "text", "12", '"a"', "{", '{"a": 1,}'])("%j is not indented", (text) => {
  expect(indentJson(text)).toBeUndefined();
});

const nested = (levels: number, within = "") => "[".repeat(levels) + within + "]".repeat(levels);

test("100 levels are indented", () => {
  expect(indentJson(nested(100))).toEqual({ text: expect.stringMatching(/^\[\n {2}\[\n {4}\[/) });
});

test.each([
  ["one deep list", nested(8_190)],
  ["a list of more levels than a string could indent", nested(500_000)],
  ["many members at one depth", nested(100, Array.from({ length: 8_000 }, () => 1).join(","))],
])("%s would have mostly indentation", (_what, text) => {
  expect(indentJson(text)).toBe("too_long");
});
