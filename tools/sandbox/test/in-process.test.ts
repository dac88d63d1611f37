import { describe, expect, test } from "vitest";
import { createSandbox, type Handler } from "@svc-webhooks/sandbox";
import { open } from "./support.js";

describe("a function that receives the deliveries", () => {
  test.each([
    [
      "undefined",
      () => undefined,
      "protocol",
      "The receiver returned undefined instead of a Response.",
    ],
    ["null", () => null, "protocol", "The receiver returned null instead of a Response."],
    [
      "a number",
      async () => 200,
      "protocol",
      "The receiver returned a number instead of a Response.",
    ],
    [
      "an object",
      () => ({ status: 200 }),
      "protocol",
      "The receiver returned an object instead of a Response.",
    ],
    [
      "an exception",
      () => {
        throw new Error("no database");
      },
      "reset",
      "The receiver threw, or its response could not be read: no database",
    ],
  ])("fails the attempt with %s", async (_what, handler, kind, text) => {
    const { sandbox, clock, control, deliveries, register, send } = await open();
    sandbox.deliverTo(handler as unknown as Handler);
    await register("http://127.0.0.1:1/");
    await send();
    await clock.advance(0);
    const [delivery] = await deliveries();
    const { body } = await control(`GET deliveries/${delivery?.id}/attempts/1`);
    expect(body.error).toEqual({ kind, text });
  });

  test.each(["http://localhost:3000/", {}, null])("is not %j", async (handler) => {
    const sandbox = createSandbox();
    expect(() => sandbox.deliverTo(handler as unknown as Handler)).toThrow(
      expect.objectContaining({ code: "invalid_option", option: "handler" }) as Error,
    );
    await sandbox.close();
  });
});

test("a closed sandbox serves nothing", async () => {
  const sandbox = createSandbox();
  const closed = sandbox.close();
  const error = "The sandbox is closed. Create another one.";
  for (const path of ["/v1/webhook-event-types", "/_sandbox/overview", "/openapi.json"]) {
    await expect(sandbox.fetch(new Request(`http://sandbox.test${path}`))).rejects.toThrow(error);
  }
  await expect(sandbox.listen(0)).rejects.toThrow(error);
  await closed;
});
