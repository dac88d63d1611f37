import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { codeOf } from "../src/adapter.js";
import { within } from "../src/engine.js";
import { errorText, oncePerMinute } from "../src/inbox.js";

const never = () => new Promise<never>(() => {});

beforeEach(() => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "performance"] });
});
afterEach(() => {
  vi.useRealTimers();
});

describe("within", () => {
  test("settles like the call", async () => {
    expect(await within(Promise.resolve(1))).toBe(1);
    await expect(within(Promise.reject(new Error("no")))).rejects.toThrow("no");
    expect(vi.getTimerCount()).toBe(0);
  });

  test("rejects after 10 s by default, or after the given time", async () => {
    for (const [ms, given] of [
      [10_000, undefined],
      [500, 500],
    ] as const) {
      const late = within(never(), given).catch(codeOf);
      await vi.advanceTimersByTimeAsync(ms);
      expect(await late).toBe("queue_unavailable");
    }
  });
});

describe("oncePerMinute", () => {
  test("passes each message once in a minute", async () => {
    const report = vi.fn<(error: unknown) => void>();
    const log = oncePerMinute(report);
    for (const text of ["a", "b", "a"]) log(new Error(text));
    expect(report).toHaveBeenCalledTimes(2);
    await vi.advanceTimersByTimeAsync(60_000);
    log(new Error("a"));
    expect(report).toHaveBeenCalledTimes(3);
  });

  test("passes at most 100 messages in a minute, even if they take turns", async () => {
    const report = vi.fn<(error: unknown) => void>();
    const log = oncePerMinute(report);
    const texts = Array.from({ length: 101 }, (_, index) => "x".repeat(index + 1));
    for (const text of [...texts, ...texts]) log(new Error(text));
    expect(report).toHaveBeenCalledTimes(100);
    await vi.advanceTimersByTimeAsync(60_000);
    for (const text of [...texts, ...texts]) log(new Error(text));
    expect(report).toHaveBeenCalledTimes(200);
  });

  test("takes messages for the same that differ in numbers and ids", () => {
    const report = vi.fn<(error: unknown) => void>();
    const log = oncePerMinute(report);
    for (const id of [
      "ec96a40d-0000-4000-8000-0123456789ab",
      "C86590F4-1111-4111-9111-ba9876543210",
    ])
      for (const port of [6_379, 6_380]) log(new Error(`timeout (Worker: ${id}, port ${port})`));
    expect(report).toHaveBeenCalledTimes(1);
  });

  test.each([
    () => Promise.reject(new Error("no log")),
    () => {
      throw new Error("no log");
    },
  ])("ignores the errors of `report`", async (report) => {
    const log = oncePerMinute(report);
    expect(() => log(new Error("a"))).not.toThrow();
    await Promise.resolve();
  });
});

test.each<[string, unknown, string]>([
  ["an error", new TypeError("no account"), "no account"],
  ["a text", "no account", "no account"],
  ["nothing", undefined, "undefined"],
  ["NUL and a lone surrogate", new Error("a\0\ud800b"), "a\ufffd\ufffdb"],
  ["a long message", new Error("x".repeat(20_000)), "x".repeat(10_000)],
  ["an error without a message", new AggregateError([]), "AggregateError"],
  ["an object without a prototype", Object.create(null), "The error cannot be read."],
  [
    "a getter that throws",
    {
      get message(): string {
        throw new Error("no");
      },
    },
    "The error cannot be read.",
  ],
])("the text of %s", (_what, error, text) => {
  expect(errorText(error)).toBe(text);
});
