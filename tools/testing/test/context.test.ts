import { expect, test } from "vitest";
import { context } from "../src/index.js";

test("a context has the given facts, and defaults for the others", () => {
  expect(context({ run: 2 })).toMatchObject({ type: "email.sent", run: 2, fence: 1 });
  expect(context(null as never)).toMatchObject({ type: "email.sent", run: 1, fence: 1 });
});
