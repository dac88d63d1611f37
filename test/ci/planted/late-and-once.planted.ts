import { expect, test } from "vitest";
import { requestTo } from "./server.js";
import { isSecondTry } from "./tries.js";

const starts = isSecondTry("late-and-once");

test("the server responds", () => requestTo(starts));

test("an assertion fails once", () => {
  expect(starts).toBe(true);
});
