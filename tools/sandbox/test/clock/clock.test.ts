import { gate } from "@svc-webhooks/kit/gate";
import { ownTime } from "@svc-webhooks/kit/own-time";
import { until } from "@svc-webhooks/kit/until";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import type { ClockOptions } from "../../src/clock.js";
import { createClock } from "../../src/clock/create-clock.js";
import type { DueItem } from "../../src/clock.js";
import { lastTime } from "../../src/lib/iso.js";
import { impatient, open, receiver } from "../support.js";

const patienceMs = 500;

function clockOf(options: ClockOptions = { mode: "manual", start: 0 }) {
  const clock = createClock({ patienceMs, ...options });
  onTestFinished(() => clock.close());
  return clock;
}

const item = (id = "", kind: DueItem["kind"] = "attempt"): DueItem => ({ kind, id });

/** Measures the time that work takes, by the wall clock and without the pauses of a busy machine. */
async function timeOf(work: () => Promise<unknown>) {
  const [wall, own] = [performance.now(), ownTime()];
  await work();
  return { wallMs: performance.now() - wall, ownMs: ownTime() - own };
}

test("a manual clock begins at its start, however long its process is stopped while it is made", async () => {
  let wall = 0;
  vi.resetModules();
  vi.doMock("../../src/lib/timers.js", () => ({ realOrigin: 0, realNow: () => (wall += 1_000) }));
  onTestFinished(() => vi.doUnmock("../../src/lib/timers.js"));
  const fresh = await import("../../src/clock/create-clock.js");
  expect(fresh.createClock({ mode: "manual", start: 7 }).now()).toBe(7);
});

test("a clock refuses modes, speeds and times that it cannot have", async () => {
  for (const options of [
    { mode: "fast" as ClockOptions["mode"] },
    { mode: "accelerated" as const, speed: 0 },
    { mode: "accelerated" as const, speed: Number.NaN },
  ])
    expect(() => createClock(options)).toThrow(RangeError);
  const clock = clockOf();
  for (const ms of [-1, Number.NaN, Infinity, 1e15])
    await expect(clock.advance(ms)).rejects.toThrow(RangeError);
  expect(clock.now()).toBe(0);
});

test("a clock that runs by itself ends with the year 9999, and so does what is due later", async () => {
  const clock = clockOf({ mode: "accelerated", speed: 999_999, start: lastTime - 1 });
  const ran: number[] = [];
  for (const time of [lastTime, lastTime + 1, 8.64e15 + 5_000])
    clock.at(time, item(), () => ran.push(clock.now()));
  await until(() => ran.length === 3, "all of them run");
  expect([...ran, clock.now(), clock.state().now]).toEqual(Array(5).fill(lastTime));
});

describe("a moved clock", () => {
  test("runs 10,000 timers at their times, equal ones in the order of their creation", async () => {
    const clock = clockOf();
    const ran: (readonly [number, number])[] = [];
    // Steps of 7,919, a prime, visit every number once, out of order.
    const numbers = Array.from({ length: 10_000 }, (_, index) => (index * 7_919) % 10_000);
    for (const n of numbers) {
      const time = Math.floor(n / 10);
      clock.at(time, item(), () => ran.push([clock.now(), n]));
    }
    await clock.advance(1_000);
    const place = new Map(numbers.map((n, index) => [n, index]));
    const expected = numbers
      .toSorted(
        (a, b) =>
          Math.floor(a / 10) - Math.floor(b / 10) || (place.get(a) ?? 0) - (place.get(b) ?? 0),
      )
      .map((n) => [Math.floor(n / 10), n]);
    expect(ran).toEqual(expected);
  });

  test("gives the event loop turns while many items are due", async () => {
    const clock = clockOf();
    let [inTurn, most] = [0, 0];
    for (let n = 0; n < 1_000; n += 1) {
      clock.at(1, item(), () => {
        if (inTurn === 0) setImmediate(() => (inTurn = 0));
        inTurn += 1;
        most = Math.max(most, inTurn);
      });
    }
    await clock.advance(1);
    expect(most).toBeLessThanOrEqual(100);
  });

  test("runs what running work adds, at its own time", async () => {
    const clock = clockOf();
    const times: number[] = [];
    const again = () => {
      times.push(clock.now());
      if (times.length < 5) clock.at(clock.now() + 100, item(), again);
    };
    clock.at(100, item(), again);
    await clock.advance(1_000);
    expect([times, clock.now()]).toEqual([[100, 200, 300, 400, 500], 1_000]);
  });

  test("waits once for work that does not end, and not at all for work that ends", async () => {
    const clock = clockOf();
    clock.at(0, item(), () => new Promise(() => {}));
    for (let n = 1; n <= 20; n += 1) {
      clock.at(n * 100, item(), () => new Promise((resolve) => setImmediate(resolve)));
    }
    const first = await timeOf(() => clock.advance(10_000));
    expect(first.wallMs).toBeGreaterThanOrEqual(patienceMs - 1);
    expect(first.ownMs).toBeLessThan(2 * patienceMs);
    expect((await timeOf(() => clock.advance(10_000))).ownMs).toBeLessThan(patienceMs);
  });

  test("waits for work that continues after a delay", async () => {
    const clock = clockOf();
    const held = gate();
    let ended = false;
    clock.at(0, item("dlv_1"), async () => {
      await held.opened;
      await new Promise((resolve) => setTimeout(resolve, 20));
      ended = true;
    });
    clock.at(1_000, item("dlv_1", "delay"), () => held.open());
    clock.at(1_001, item(), () => expect(ended).toBe(true));
    await clock.advance(5_000);
    expect(ended).toBe(true);
  });

  test("adds up concurrent calls", async () => {
    const clock = clockOf();
    const times: number[] = [];
    for (const time of [500, 1_500, 2_500]) clock.at(time, item(), () => times.push(clock.now()));
    await Promise.all([clock.advance(1_000), clock.advance(1_000), clock.advance(1_000)]);
    expect([times, clock.now()]).toEqual([[500, 1_500, 2_500], 3_000]);
  });

  test("goes to the next due item and names it, unless it was canceled", async () => {
    const clock = clockOf();
    const cancel = clock.at(5, item("canceled"), () => {});
    clock.at(10, item("dlv_1"), () => {});
    clock.at(20, item("send_1", "send"), () => {});
    cancel();
    expect(clock.nextDue).toBe(10);
    const seen = [];
    for (let n = 0; n < 3; n += 1) seen.push([await clock.advanceToNext(), clock.now()]);
    expect(seen).toEqual([
      [item("dlv_1"), 10],
      [item("send_1", "send"), 20],
      [undefined, 20],
    ]);
  });

  test("continues after work that throws", async () => {
    const clock = clockOf();
    let ran = 0;
    clock.at(1, item(), () => {
      throw new Error("broken");
    });
    clock.at(1, item(), () => Promise.reject(new Error("broken")));
    clock.at(2, item(), () => (ran += 1));
    await clock.advance(2);
    expect(ran).toBe(1);
  });

  test.for([-1, Number.NaN, Infinity])("refuses %d milliseconds", async (ms) => {
    const clock = clockOf();
    await expect(clock.advance(ms)).rejects.toThrow(RangeError);
    expect(clock.now()).toBe(0);
  });

  test("ends a running advance when it is closed", async () => {
    const clock = clockOf();
    clock.at(0, item(), () => new Promise(() => {}));
    const advanced = clock.advance(1_000);
    clock.close();
    expect((await timeOf(() => advanced)).ownMs).toBeLessThan(patienceMs);
  });
});

describe("a mode", () => {
  test("real counts exactly what was added", async () => {
    const clock = clockOf({ mode: "real" });
    const before = Date.now();
    let ranAt = 0;
    clock.at(clock.now() + 40_000, item(), async () => {
      ranAt = clock.now();
      await new Promise((resolve) => setTimeout(resolve, 30));
    });
    await clock.advance(60_000);
    expect(clock.offsetMs).toBe(60_000);
    expect(clock.now() - before).toBeGreaterThanOrEqual(59_999);
    expect(ranAt - before).toBeLessThan(60_000);
  });

  test("accelerated runs ahead of real time", async () => {
    const clock = clockOf({ mode: "accelerated", speed: 10_000, start: 0 });
    const done = gate();
    clock.at(100_000, item(), () => done.open());
    const { wallMs } = await timeOf(() => done.opened);
    // At this speed, 100 s take 10 ms.
    expect([clock.now() >= 100_000, wallMs < 100_000, clock.speed]).toEqual([true, true, 10_000]);
  });

  test("changes without a jump, and a manual clock stands still", async () => {
    const clock = clockOf();
    await clock.advance(5_000);
    clock.setMode("real");
    expect(clock.now() - 5_000).toBeLessThan(60_000);
    const started = gate();
    clock.at(clock.now() + 1, item(), () => started.open());
    await started.opened;
    clock.setMode("manual");
    const stopped = clock.now();
    await new Promise((resolve) => setTimeout(resolve, 10));
    expect([clock.now(), clock.offsetMs, clock.mode]).toEqual([stopped, 0, "manual"]);
  });

  test.for(["real", "accelerated", "manual"] as const)(
    "%s never goes back in a restart",
    async (mode) => {
      const speed = 1_000;
      const first = clockOf({ mode, speed });
      await first.advance(3_600_000);
      const startedAt = performance.now();
      const state = first.state();
      await new Promise((resolve) => setTimeout(resolve, 10));
      const [now, next] = [first.now(), clockOf()];
      next.restore(state);
      expect(next.mode).toBe(mode);
      expect(next.now()).toBeGreaterThanOrEqual(now);
      const gained = next.now() - now;
      // A clock returns whole milliseconds, so it may gain one more.
      const realMs = performance.now() - startedAt + 1;
      expect(gained).toBeLessThanOrEqual({ real: 1, accelerated: speed, manual: 0 }[mode] * realMs);
    },
  );

  test("continues from a time after that of the machine, whose clock was set back", () => {
    const clock = clockOf();
    clock.restore({ mode: "real", speed: 1, now: 1_000, wall: Date.now() + 3_600_000 });
    expect(clock.now()).toBeGreaterThanOrEqual(1_000);
    expect(clock.now()).toBeLessThan(61_000);
  });
});

test.for([
  [400, "timeout"],
  // Longer than the test may take.
  [600_000, undefined],
] as const)("a patience of %d ms decides about a receiver that takes 700 ms", async (row) => {
  const [patience, kind] = row;
  const opened = await open({ clock: { mode: "manual", patienceMs: patience } });
  const slow = await receiver((response) => setTimeout(() => response.end(), 700));
  await opened.register(slow.url);
  await opened.send();
  await opened.clock.advance(16_000);
  const [delivery] = await opened.deliveries();
  expect(delivery?.attempts[0]?.error).toBe(kind);
});

test("hanging receivers time out on the moved clock, each at its own time", async () => {
  const opened = await open({ clock: impatient });
  const hanging = await receiver(() => {});
  await opened.register(hanging.url);
  const start = opened.clock.now();
  for (let n = 0; n < 12; n += 1) await opened.send();
  await opened.clock.advance(14_999);
  const ended = async () => (await opened.deliveries()).map(({ attempts }) => attempts.length);
  expect(await ended()).toEqual(Array.from({ length: 12 }, () => 0));
  expect(await opened.clock.advanceToNext()).toEqual({
    kind: "timeout",
    id: expect.stringMatching(/^dlv_/),
  });
  await until(() => hanging.got.length === 12, "the last two have started");
  expect(await ended()).toEqual([...Array.from({ length: 10 }, () => 1), 0, 0]);
  const [first] = await opened.deliveries();
  expect(first?.attempts[0]).toMatchObject({
    started_at: new Date(start).toISOString(),
    ms: 15_000,
  });
});
