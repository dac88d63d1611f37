import { expect, test } from "vitest";
import { requestTo } from "./server.js";
import { isSecondTry } from "./tries.js";

test("the server responds", async () => {
  expect(await requestTo(isSecondTry("later"))).toBe("ready");
});
