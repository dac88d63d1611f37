import { expect, test } from "vitest";
import { node, root } from "./programs.js";

/** The errors of all tests. The first one is not among those of its own test, which has ended. */
const seen: unknown[] = [];

test.fails("a program that still runs when its test ends makes it fail", () => {
  const program = "setInterval(() => {}, 1_000)";
  node(["--eval", program], { cwd: root }).catch((error: unknown) => seen.push(error));
  expect(seen).toEqual([]);
});

test("the error names the program", () => {
  expect(seen).toEqual([
    expect.objectContaining({ message: expect.stringMatching(/node did not exit by itself: /) }),
  ]);
});
