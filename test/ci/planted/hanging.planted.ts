import { expect, test } from "vitest";
import { requestTo } from "./server.js";
import { isSecondTry } from "./tries.js";

test("the server responds", async () => {
  if (isSecondTry("hanging")) await new Promise(() => {});
  expect(await requestTo(false)).toBe("ready");
});
