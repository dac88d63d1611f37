import { expect, test } from "vitest";
import { requestTo } from "./server.js";

test("the server responds", async () => {
  expect(await requestTo(false)).toBe("ready");
});
