import { describe, expect, test } from "vitest";
import { signedDelivery, signedRequest } from "../src/index.js";

const cyclic: Record<string, unknown> = {};
cyclic["itself"] = cyclic;

describe.each([
  ["signedDelivery", signedDelivery],
  ["signedRequest", signedRequest],
] as const)("%s", (_name, create) => {
  test.each([
    [undefined, "`event` is undefined."],
    [() => ({}), "`event` is a value without a JSON form (function)."],
    [Symbol("event"), "`event` is a value without a JSON form (symbol)."],
    [{ id: 1n }, "`event` is a value without a JSON form (object)."],
    [cyclic, "`event` is a value without a JSON form (object)."],
  ])("refuses an event without a body: %s", async (event, message) => {
    await expect(create(event)).rejects.toMatchObject({
      name: "ConfigError",
      code: "invalid_option",
      option: "event",
      message: expect.stringContaining(message) as string,
    });
  });

  test.each([
    ["", ""],
    [new Uint8Array(), ""],
    [null, "null"],
    [{}, "{}"],
  ])("sends the body of the event %j", async (event, body) => {
    expect(await new Response((await create(event)).body).text()).toBe(body);
  });

  test.each([
    [{ secrt: "whsec_own" }, "unknown_option", "secrt"],
    [{ body: "{}" }, "unknown_option", "body"],
    [null, "invalid_option", "options"],
    ["whsec_own", "invalid_option", "options"],
  ])("refuses the options %j", async (options, code, option) => {
    await expect(create({}, options as never)).rejects.toMatchObject({
      name: "ConfigError",
      code,
      option,
    });
  });
});

test("only a request has a URL", async () => {
  const options = { url: "https://example.test/a" };
  expect((await signedRequest({}, options)).url).toBe(options.url);
  await expect(signedDelivery({}, options as never)).rejects.toMatchObject({ option: "url" });
  await expect(signedRequest({}, { ur: options.url } as never)).rejects.toThrow(/headers, url\./);
});
