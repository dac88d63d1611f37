import { expect, test } from "vitest";
import { isSecondTry } from "./tries.js";

test("a rejection is not handled once", async () => {
  const isSecond = isSecondTry("unhandled");
  if (!isSecond) void Promise.reject(new Error("nobody handles this"));
  await new Promise(setImmediate);
  expect(isSecond).toBeTypeOf("boolean");
});
