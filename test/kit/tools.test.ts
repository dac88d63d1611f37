import { expect, test } from "vitest";
import { areToolsRequired } from "./tools.js";

test.each<[env: NodeJS.ProcessEnv, platform: NodeJS.Platform, isRequired: boolean]>([
  [{ CI: "true" }, "linux", true],
  [{ CI: "true" }, "darwin", false],
  [{ CI: "true" }, "win32", false],
  [{}, "linux", false],
  [{ CI: "true", SVC_TEST_TOOLS: "none" }, "linux", false],
  [{ CI: "true", SVC_TEST_TOOLS: "" }, "linux", true],
  [{ SVC_TEST_TOOLS: "all" }, "linux", true],
  [{ SVC_TEST_TOOLS: "all" }, "darwin", true],
])("with %j on %s, whether tools are required is %s", (env, platform, isRequired) => {
  expect(areToolsRequired(env, platform)).toBe(isRequired);
});

test("another value of SVC_TEST_TOOLS is refused", () => {
  expect(() => areToolsRequired({ SVC_TEST_TOOLS: "some" }, "linux")).toThrow(
    "SVC_TEST_TOOLS cannot be some. Set it to all or none.",
  );
});
