import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { codeOf } from "../src/adapter.js";
import { roomGuard, shared, within } from "../src/engine.js";
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

describe("shared", () => {
  const call = () => {
    const giving = new AbortController();
    return { giving, signal: giving.signal };
  };

  test("loads once, and reads no signal afterwards", async () => {
    const load = vi.fn<() => Promise<string>>(async () => "value");
    const get = shared(load);
    expect(await Promise.all([get(call()), get(call())])).toEqual(["value", "value"]);
    const later = {
      get signal(): never {
        throw new Error("The signal was created.");
      },
    };
    expect(get(later)).toBe("value");
    expect(load).toHaveBeenCalledTimes(1);
  });

  test("forgets a load that fails", async () => {
    const load = vi.fn<() => Promise<string>>().mockRejectedValueOnce(new Error("no"));
    load.mockResolvedValue("value");
    const get = shared(load);
    await expect(get(call())).rejects.toThrow("no");
    expect(await get(call())).toBe("value");
  });

  test("forgets a load that a caller has given up", async () => {
    const load = vi.fn<() => Promise<string>>().mockReturnValueOnce(never());
    load.mockResolvedValue("value");
    const get = shared(load);
    const first = call();
    void get(first);
    first.giving.abort();
    expect(await get(call())).toBe("value");
  });
});

describe("roomGuard", () => {
  const guard = (room: () => number | Promise<number>) => {
    const read = vi.fn<typeof room>(room);
    return { read, assertRoom: roomGuard(read, () => 100, "Raise the limit.") };
  };
  const full = { code: "queue_full", message: "Raise the limit." };

  test("counts what is stored between two readings", async () => {
    const { read, assertRoom } = guard(() => 350);
    await assertRoom(100);
    await assertRoom(100);
    await expect(async () => assertRoom(100)).rejects.toMatchObject(full);
    expect(read).toHaveBeenCalledTimes(1);
  });

  test("reads the room again after 5 s, and after 500 ms while there is too little", async () => {
    let room = 1_000;
    const { read, assertRoom } = guard(() => room);
    await assertRoom(1);
    await vi.advanceTimersByTimeAsync(4_999);
    await assertRoom(1);
    expect(read).toHaveBeenCalledTimes(1);
    await vi.advanceTimersByTimeAsync(1);
    room = 50;
    await expect(assertRoom(1)).rejects.toMatchObject(full);
    expect(() => assertRoom(1)).toThrow(expect.objectContaining(full));
    room = 1_000;
    await vi.advanceTimersByTimeAsync(500);
    await assertRoom(1);
    expect(read).toHaveBeenCalledTimes(3);
  });

  test.each<[string, () => number | Promise<number>]>([
    ["is rejected", () => Promise.reject(new Error("no"))],
    [
      "throws",
      () => {
        throw new Error("no");
      },
    ],
    ["has no reply", never],
  ])("stores jobs if the reading %s", async (_how, read) => {
    const { assertRoom } = guard(read);
    const stored = assertRoom(1_000);
    await vi.advanceTimersByTimeAsync(1_000);
    expect(await stored).toBeUndefined();
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
