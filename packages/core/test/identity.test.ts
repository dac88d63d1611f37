import { describe, expect, test } from "vitest";
import type { ReceiverOptions } from "../src/index.js";
import { observed, recorded, send } from "./support.js";

describe.each<["eventType" | "eventId", string, Partial<ReceiverOptions>]>([
  ["eventType", "event_untyped", {}],
  ["eventId", "misconfigured", { dedupeBy: "event" }],
])("%s", (option, code, options) => {
  test("also receives the exact bytes, because the body rounds numbers beyond 2^53", async () => {
    const seen = new Set<string>();
    const read = (_: unknown, bytes: Uint8Array) => {
      const text = /"id":(\d+)/.exec(new TextDecoder().decode(bytes))?.[1];
      if (text) seen.add(text);
      return text;
    };
    const { receiver } = observed({ eventId: read, ...options, [option]: read });
    expect((await send(receiver, '{"type":"a","id":9007199254740993}')).code).toBe("processed");
    expect(seen).toEqual(new Set(["9007199254740993"]));
  });

  test.each<[string, () => unknown, string]>([
    ["a promise", () => Promise.resolve("evt_1"), "a promise"],
    ["a promise that rejects", () => Promise.reject(new Error("no")), "a promise"],
    ["a number", () => 5, "number"],
    ["an object", () => ({}), "object"],
    ["a list", () => ["evt_1"], "object"],
    ["nothing", () => undefined, "undefined"],
    ["empty text", () => "", "empty text"],
  ])("that returns %s calls no store or handler, and prints one line", async (_, wrong, found) => {
    const { receiver, lines, calls, contexts } = recorded({
      eventId: () => "evt_1",
      ...options,
      [option]: wrong,
    });
    const outcome = await send(receiver, undefined, { "x-svc-event-id": "evt_1" });
    expect(outcome).toMatchObject({ code, status: 500 });
    expect(lines).toEqual([
      expect.stringContaining(`${option} must return text, but returned ${found}`),
    ]);
    expect({ calls, contexts }).toEqual({ calls: [], contexts: [] });
  });
});

test("an eventId that returns nothing is misconfigured only with dedupeBy event", async () => {
  const { receiver } = observed({ eventId: () => undefined });
  expect(await send(receiver)).toMatchObject({ code: "processed", eventIdSigned: false });
});

test("an eventId that returns a number is misconfigured with any dedupeBy", async () => {
  const { receiver } = observed({ eventId: (() => 5) as unknown as () => string });
  expect((await send(receiver)).code).toBe("misconfigured");
});

test.each<[string, number | undefined]>([
  ["1", 1],
  ["007", 7],
  ["999999999", 999_999_999],
  ["1234567890", undefined],
  ["0x10", undefined],
  ["1e3", undefined],
  ["-1", undefined],
  ["1.5", undefined],
  [" 2", undefined],
  ["1, 2", undefined],
  ["Infinity", undefined],
])("an X-SVC-Attempt of %j is reported as %s", async (header, attempt) => {
  const { receiver, reports } = observed();
  await send(receiver, undefined, { "x-svc-attempt": header });
  expect(reports[0]?.attempt).toBe(attempt);
});
