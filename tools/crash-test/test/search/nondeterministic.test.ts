import { expect, test } from "vitest";
import { assertSame } from "../../src/search/undisturbed.js";

test("equal histories pass", () => {
  expect(() => assertSame("", ["a", "b"], ["a", "b"], [])).not.toThrow();
});

test.each([
  { second: ["a", "c"], lines: ["run 1: b", "run 2: c"] },
  { second: ["a"], lines: ["run 1: b", "run 2: no further line"] },
  { second: ["a", "b", "c"], lines: ["run 1: no further line", "run 2: c"] },
])("histories that differ are an error with $lines", ({ second, lines }) => {
  const expected = lines.map((line) => `  crash@4 ${line}\n`).join("");
  expect(() => assertSame("crash@4 ", ["a", "b"], second, ["a file"])).toThrow(
    expect.objectContaining({
      code: "nondeterministic",
      message: expect.stringMatching(
        new RegExp(`that differs:\n${expected}[^]*\nThe code used a file, which takes real time`),
      ) as string,
    }) as Error,
  );
});
