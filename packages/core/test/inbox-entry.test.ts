import { describe, expect, test } from "vitest";
import { entryOf } from "../src/engine.js";

describe("the source of an inbox entry", () => {
  test("is the channel from which an intake has accepted the event", () => {
    const { source } = entryOf({ headers: { "intake-source": "eventbridge" } }, 0);
    expect(source).toBe("eventbridge");
  });

  test.each([
    [undefined],
    [{}],
    [{ headers: null }],
    [{ headers: { "x-svc-delivery-id": "dlv_1" } }],
    [{ headers: { "intake-source": "" } }],
    [{ headers: { "intake-source": ["eventbridge"] } }],
  ])("is absent from the entry of the job %j", (data) => {
    expect(entryOf(data, 0)).not.toHaveProperty("source");
  });
});
