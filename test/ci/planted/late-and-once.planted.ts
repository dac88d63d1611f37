import { expect, test } from "vitest";
import { requestTo } from "./server.js";
import { isSecondTry } from "./tries.js";

const starts = isSecondTry("late-and-once");

test("the server responds", async () => {
  expect(await requestTo(starts)).toBe("ready");
});

test("an assertion fails once", () => {
  expect(starts).toBe(true);
});
