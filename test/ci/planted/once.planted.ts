import { expect, test } from "vitest";
import { isSecondTry } from "./tries.js";

test("an assertion fails once", () => {
  expect(isSecondTry("once")).toBe(true);
});
