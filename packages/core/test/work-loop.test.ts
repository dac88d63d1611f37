import { fakeClock } from "@svc-webhooks/testing";
import { afterEach, describe, expect, test, vi } from "vitest";
import { startLoop, type JobSource } from "../src/engine.js";

afterEach(() => {
  vi.useRealTimers();
});

interface Gate<Value> {
  readonly passed: Promise<Value>;
  readonly open: (value: Value) => void;
}

function gate<Value = void>(): Gate<Value> {
  let open!: Gate<Value>["open"];
  const passed = new Promise<Value>((resolve) => {
    open = resolve;
  });
  return { passed, open };
}

/** A loop over jobs that are texts, and the calls of its source. */
function bench(overrides: Partial<JobSource<string>> = {}, concurrency = 2) {
  const clock = fakeClock();
  const ready: string[] = [];
  const calls: string[] = [];
  const errors: unknown[] = [];
  const returned: string[] = [];
  const loop = startLoop<string>(
    {
      clock,
      take: (free) => ready.splice(0, free),
      nextMs: () => undefined,
      perform: (job) => calls.push(job),
      giveBack: (jobs) => returned.push(...jobs),
      onError: (error) => errors.push(error),
      ...overrides,
    },
    concurrency,
  );
  return { clock, ready, calls, errors, returned, loop };
}

const never = () => new Promise<never>(() => {});
const settle = () => new Promise(setImmediate);

describe("taking", () => {
  test("takes synchronously, as many jobs as there are free places, and again after each run", async () => {
    const gates = new Map<string, Gate<void>>();
    const asked: number[] = [];
    const waiting = ["a", "b", "c", "d"];
    const { loop } = bench({
      take: (free) => {
        asked.push(free);
        return waiting.splice(0, free);
      },
      perform: (job) => {
        gates.set(job, gate());
        return gates.get(job)?.passed;
      },
    });
    expect([...gates.keys()]).toEqual(["a", "b"]);
    loop.wake();
    expect(asked).toEqual([2]);
    gates.get("b")?.open();
    await settle();
    expect([...gates.keys()]).toEqual(["a", "b", "c"]);
    expect(asked).toEqual([2, 1]);
  });

  test("a wake during a take leads to one more take after it", async () => {
    const takes: Gate<readonly string[]>[] = [];
    const take = () => {
      takes.push(gate());
      return takes.at(-1)?.passed ?? [];
    };
    const { loop, calls } = bench({ take });
    loop.wake();
    loop.wake();
    await settle();
    expect(takes).toHaveLength(1);
    takes[0]?.open(["a"]);
    await settle();
    expect(calls).toEqual(["a"]);
    expect(takes).toHaveLength(2);
    takes[1]?.open([]);
    await settle();
    expect(takes).toHaveLength(2);
  });

  test("takes again after `nextMs`, with one timer", async () => {
    const take = vi.fn<() => string[]>(() => []);
    const after = vi.fn<(delayMs: number) => void>();
    const clock = fakeClock();
    let pending = 0;
    const counting = {
      now: () => clock.now(),
      monotonic: () => clock.monotonic(),
      after(delayMs: number, run: () => void) {
        pending += 1;
        after(delayMs);
        let isPending = true;
        const end = () => {
          if (isPending) pending -= 1;
          isPending = false;
        };
        const cancel = clock.after(delayMs, () => {
          end();
          run();
        });
        return () => {
          end();
          cancel();
        };
      },
    };
    const delays = [50, 2 ** 40, -1];
    const { loop } = bench({ clock: counting, take, nextMs: () => delays.shift() });
    await clock.advance(49);
    expect(take).toHaveBeenCalledTimes(1);
    await clock.advance(1);
    expect(take).toHaveBeenCalledTimes(2);
    loop.wake();
    expect(after.mock.calls).toEqual([[50], [2_147_483_647], [0]]);
    expect(pending).toBe(1);
    await loop.stop({ deadlineMs: 0 });
    expect(pending).toBe(0);
  });

  test.each([
    ["throws", () => fail()],
    ["rejects", async () => fail()],
  ])("reports a take that %s, and takes again", async (_what, failing) => {
    let count = 0;
    const take = () => ((count += 1) === 1 ? failing() : []);
    const { clock, errors } = bench({ take, nextMs: () => 1_000 });
    await settle();
    expect(errors).toEqual([new Error("no")]);
    await clock.advance(1_000);
    expect(count).toBe(2);
  });

  test.each([
    ["throws", () => fail()],
    ["rejects", async () => fail()],
  ])("reports a run that %s, even if `onError` does so too", async (_what, failing) => {
    const onError = vi.fn<(error: unknown) => unknown>(failing);
    const { ready, loop } = bench({ perform: failing, onError });
    for (const job of ["a", "b"]) {
      ready.push(job);
      loop.wake();
      await settle();
    }
    expect(onError.mock.calls).toEqual([[new Error("no")], [new Error("no")]]);
  });
});

function fail(): never {
  throw new Error("no");
}

describe("stop", () => {
  test("takes no more jobs, aborts the signal, and waits for those that run", async () => {
    const { passed, open } = gate();
    const waiting = ["a", "b"];
    const signals: AbortSignal[] = [];
    const perform = (_job: string, signal: AbortSignal) => {
      signals.push(signal);
      return passed;
    };
    const take = vi.fn<() => string[]>(() => waiting.splice(0, 1));
    const { loop, clock, returned } = bench({ take, perform, nextMs: () => 10 }, 3);
    expect(take).toHaveBeenCalledTimes(1);
    expect(signals[0]?.aborted).toBe(false);
    let isStopped = false;
    const stopped = loop.stop({ deadlineMs: 1_000 });
    void stopped.then(() => (isStopped = true));
    expect(loop.stop({ deadlineMs: 5 })).toBe(stopped);
    expect(signals[0]?.aborted).toBe(true);
    loop.wake();
    await clock.advance(999);
    expect(isStopped).toBe(false);
    open();
    await stopped;
    expect(take).toHaveBeenCalledTimes(1);
    expect(returned).toEqual([]);
  });

  test("gives back what still runs at the deadline", async () => {
    const gates = [gate(), gate()];
    const counts: boolean[] = [];
    const perform = async (job: string, _signal: AbortSignal, isGivenBack: () => boolean) => {
      await gates[Number(job)]?.passed;
      counts.push(isGivenBack());
    };
    const { loop, clock, ready, returned } = bench({ perform });
    ready.push("0", "1");
    loop.wake();
    const stopped = loop.stop({ deadlineMs: 1_000 });
    gates[0]?.open();
    await clock.advance(999);
    expect(returned).toEqual([]);
    await clock.advance(1);
    await stopped;
    expect(returned).toEqual(["1"]);
    gates[1]?.open();
    await settle();
    expect(counts).toEqual([false, true]);
  });

  test("gives back the jobs of a take that was pending", async () => {
    const { passed, open } = gate<readonly string[]>();
    const { loop, calls, returned } = bench({ take: () => passed });
    const stopped = loop.stop({ deadlineMs: 1_000 });
    let isStopped = false;
    void stopped.then(() => (isStopped = true));
    await settle();
    expect(isStopped).toBe(false);
    open(["a"]);
    await stopped;
    expect(returned).toEqual(["a"]);
    expect(calls).toEqual([]);
  });

  test("does not wait longer than the deadline for a take", async () => {
    const { passed, open } = gate<readonly string[]>();
    const { loop, returned } = bench({ take: () => passed });
    await loop.stop({ deadlineMs: 0 });
    open(["a"]);
    await settle();
    expect(returned).toEqual(["a"]);
  });

  test.each([
    ["throws", () => fail(), { message: "no" }],
    ["never settles", never, { code: "queue_unavailable" }],
  ])("resolves although `giveBack` %s", async (_what, giveBack, error) => {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    const { loop, ready, errors } = bench({ perform: never, giveBack });
    ready.push("a");
    loop.wake();
    const stopped = loop.stop({ deadlineMs: 0 });
    await vi.advanceTimersByTimeAsync(1_000);
    await stopped;
    expect(errors).toMatchObject([error]);
  });

  test.each([
    [undefined, "invalid_option", "options"],
    [{}, "invalid_option", "deadlineMs"],
    [{ deadlineMs: -1 }, "invalid_option", "deadlineMs"],
    [{ deadlineMs: 1.5 }, "invalid_option", "deadlineMs"],
    [{ deadlineMs: 2 ** 31 }, "invalid_option", "deadlineMs"],
    [{ deadlineMs: 1, wait: true }, "unknown_option", "wait"],
  ])("rejects %o, and can be called again", async (options, code, option) => {
    const { loop } = bench();
    await expect(loop.stop(options as never)).rejects.toMatchObject({ code, option });
    await expect(loop.stop({ deadlineMs: 2_147_483_647 })).resolves.toBeUndefined();
  });
});
