import { test } from "vitest";
import { isSecondTry } from "./tries.js";

test("a rejection is not handled once", async () => {
  if (!isSecondTry("unhandled")) void Promise.reject(new Error("nobody handles this"));
  await new Promise(setImmediate);
});
