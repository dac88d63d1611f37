import { expect, test } from "vitest";
import { faultsOf, pointOf } from "../../src/crash-test/settings.js";

test("kill and crash are the same fault", () => {
  expect(pointOf("crash@3")).toBe(pointOf("kill@3"));
  expect(faultsOf("crash,fail")).toEqual(faultsOf("kill,fail"));
});
