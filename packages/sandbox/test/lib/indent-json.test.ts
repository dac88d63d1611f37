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
  expect(indentJson(text)).toBe(expected);
});

test.each(["", "text", "12", '"a"', "{", '{"a": 1,}'])("%j is not indented", (text) => {
  expect(indentJson(text)).toBeUndefined();
});
