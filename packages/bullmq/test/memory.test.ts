import { afterEach, beforeEach, expect, test, vi } from "vitest";
import type { QueueLike } from "../src/queue-like.js";
import { guardMemory } from "../src/queue/memory.js";

beforeEach(() => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "performance"] });
});
afterEach(() => {
  vi.useRealTimers();
});

/** Returns the reply of INFO for a Redis that has `free` bytes beyond the fifth that workers need. */
const memory = (free: number) => `maxmemory:1000\r\nused_memory:${800 - free}\r\n`;

function guard(read: () => string | Promise<string>) {
  const info = vi.fn<typeof read>(read);
  const queue = { backend: { client: Promise.resolve({ info }) } } as unknown as QueueLike;
  return { info, assertRoom: guardMemory(queue) };
}

const full = {
  code: "queue_full",
  message: expect.stringContaining("less than a fifth") as unknown,
};

test("counts what is stored between two readings", async () => {
  const { info, assertRoom } = guard(() => memory(250));
  await assertRoom(100);
  await assertRoom(100);
  await expect(async () => assertRoom(100)).rejects.toMatchObject(full);
  expect(info).toHaveBeenCalledTimes(1);
});

test("reads the memory again after 5 s, and after 500 ms while there is too little", async () => {
  let free = 800;
  const { info, assertRoom } = guard(() => memory(free));
  await assertRoom(1);
  await vi.advanceTimersByTimeAsync(4_999);
  await assertRoom(1);
  expect(info).toHaveBeenCalledTimes(1);
  await vi.advanceTimersByTimeAsync(1);
  free = 0;
  await expect(assertRoom(1)).rejects.toMatchObject(full);
  expect(() => assertRoom(1)).toThrow(expect.objectContaining({ code: "queue_full" }));
  free = 800;
  await vi.advanceTimersByTimeAsync(500);
  await assertRoom(1);
  expect(info).toHaveBeenCalledTimes(3);
});

test.each<[string, () => string | Promise<string>]>([
  ["is rejected", () => Promise.reject(new Error("no"))],
  [
    "throws",
    () => {
      throw new Error("no");
    },
  ],
  ["has no reply", () => new Promise<never>(() => {})],
  ["finds no limit", () => "maxmemory:0\r\nused_memory:900\r\n"],
])("accepts jobs if the reading %s", async (_how, read) => {
  const { assertRoom } = guard(read);
  const stored = assertRoom(1_000);
  await vi.advanceTimersByTimeAsync(1_000);
  expect(await stored).toBeUndefined();
});
