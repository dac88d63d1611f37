import { deepEqual } from "node:assert/strict";
import type {
  ClaimRequest,
  ClaimResult,
  DeliveryStore,
  RecordState,
  ReleaseRequest,
} from "@svc-webhooks/core";
import { next, stateOf, type Change, type StoredRecord } from "@svc-webhooks/core/store-rules";
import fc from "fast-check";
import { claimant, newKey, StoreProbe, type StoreCase } from "./probe.js";

/** A store in memory that follows the rules of `DeliveryStore`. Its time stands still until `now` is set. */
class StoreModel implements DeliveryStore {
  readonly shared = false;
  now = 0;
  readonly #records = new Map<string, StoredRecord>();

  readonly #next: Change<string> = (call, key, request) => {
    const [result, record] = next(call, this.#records.get(key), request, this.now);
    if (record) this.#records.set(key, record);
    if (record === null) this.#records.delete(key);
    return result;
  };

  readonly claim = (key: string, request: ClaimRequest) => this.#next("claim", key, request);
  readonly complete = (key: string, request: ClaimRequest) => this.#next("complete", key, request);
  readonly release = (key: string, request: ReleaseRequest) => this.#next("release", key, request);
  readonly extend = (key: string, request: ClaimRequest) => this.#next("extend", key, request);
  readonly forget = (key: string) => this.#next("forget", key, undefined);

  peek(keys: readonly string[]): readonly (RecordState | undefined)[] {
    return keys.map((key) => {
      const record = this.#records.get(key);
      return record && stateOf(record, this.now);
    });
  }

  /** Sets a record's fence to the one that the tested store returned, because that store's clock may be unknown. */
  adopt(key: string, fence: number): void {
    const record = this.#records.get(key);
    if (record) this.#records.set(key, { ...record, fence });
  }

  /**
   * Returns whether a lease or a retention has ended. If so, the results after the clock is set back are not specified:
   * some stores remove expired records, others only compare times.
   */
  hasEnded(): boolean {
    return [...this.#records.values()].some(
      (record) =>
        this.now >= record.expiresAt ||
        (record.state === "running" && this.now >= record.leaseEndsAt),
    );
  }
}

const calls = ["claim", "complete", "release", "extend", "forget"] as const;

type Step =
  | { readonly waitMs: number }
  | {
      readonly call: (typeof calls)[number];
      readonly key: number;
      readonly by: number;
      readonly leaseMs: number;
      readonly retainMs: number;
      readonly to: ReleaseRequest["to"];
      readonly takeParked: boolean;
    };

/**
 * The unit of leases and retentions, and of waits unless the clock is exact, in milliseconds. A running clock advances
 * by less during a sequence of steps, so it does not end a lease or a retention by itself.
 */
const gridMs = 5_000;
const leases = [10_000, 30_000];
const retentions = [40_000, 100_000];
const setBacks = [-gridMs, -50_000];
const waits = [...setBacks, gridMs, 10_000, 25_000, 30_000, 40_000, 95_000, 100_000];
// Waits that end just before, at or just after the end of a lease or a retention, where stores tend to have bugs.
const exactWaits = [1, ...[...leases, ...retentions].flatMap((ms) => [ms - 1, ms, ms + 1])];

const stepsOf = (exact: boolean): fc.Arbitrary<readonly Step[]> => {
  const wait = fc
    .constantFrom(...waits, ...(exact ? exactWaits : []))
    .map((waitMs): Step => ({ waitMs }));
  const step = fc.record(
    {
      call: fc.constantFrom("claim" as const, ...calls),
      key: fc.constantFrom(0, 1),
      by: fc.constantFrom(1, 2, 3),
      leaseMs: fc.constantFrom(...leases),
      retainMs: fc.constantFrom(...retentions),
      to: fc.constantFrom("failed" as const, "parked" as const, "unused" as const),
      takeParked: fc.boolean(),
    },
    // Avoids null prototypes, which make a counterexample harder to read.
    { noNullPrototype: true },
  );
  const steps = fc.oneof({ arbitrary: step, weight: 5 }, { arbitrary: wait, weight: 1 });
  return fc.array(steps, { maxLength: 60, size: "max" });
};

/** Performs a call and returns its result without the properties that stores may add or omit. */
async function perform(probe: StoreProbe, key: string, step: Exclude<Step, { waitMs: number }>) {
  const { call, leaseMs, retainMs, to, takeParked } = step;
  const by = { ...claimant(step.by), leaseMs, retainMs };
  if (call === "claim") return plain(await probe.claim(key, { ...by, takeParked }));
  if (call === "release") return probe.release(key, by, to);
  return call === "forget" ? probe.forget(key) : probe[call](key, by);
}

function plain(result: ClaimResult): ClaimResult {
  switch (result.status) {
    case "claimed":
      return { status: result.status, fence: result.fence, run: result.run };
    case "busy":
      return { status: result.status, leaseLeftMs: result.leaseLeftMs };
    case "done":
    case "parked":
      return { status: result.status, lineage: result.lineage };
  }
}

type Result = Awaited<ReturnType<typeof perform>>;

/**
 * Returns the expected result of a store whose clock is not exact: the model's result, but with the actual fence if
 * that is higher, or with the actual `leaseLeftMs` if that is shorter by less than `gridMs`.
 */
function tolerant(expected: Result, actual: Result): Result {
  if (typeof expected !== "object" || typeof actual !== "object") return expected;
  if (expected.status === "claimed" && actual.status === "claimed") {
    return { ...expected, fence: Math.max(expected.fence, actual.fence) };
  }
  if (expected.status === "busy" && actual.status === "busy") {
    const { leaseLeftMs } = actual;
    // Rounds the difference, because times with fractions of a millisecond do not add up exactly.
    const agedMs = Math.round(expected.leaseLeftMs - leaseLeftMs);
    return agedMs >= 0 && agedMs < gridMs ? { ...expected, leaseLeftMs } : expected;
  }
  return expected;
}

/** Runs the same steps on a store and on the model, and compares the results. */
async function compare(probe: StoreProbe, model: StoreModel, steps: readonly Step[]) {
  const modelProbe = new StoreProbe({ store: model, advance: (ms) => (model.now += ms) });
  const keys = [newKey(), newKey()];
  for (const [index, step] of steps.entries()) {
    if ("waitMs" in step) {
      if (step.waitMs < 0 && model.hasEnded()) continue;
      await modelProbe.advance(step.waitMs);
      await probe.advance(step.waitMs);
    } else {
      const key = String(keys[step.key]);
      const expected = await perform(modelProbe, key, step);
      const actual = await perform(probe, key, step);
      const right = probe.exact ? expected : tolerant(expected, actual);
      const shown = JSON.stringify({ expected, actual });
      deepEqual(actual, right, `step ${index + 1}, ${step.call}: ${shown}`);
      if (typeof actual === "object" && actual.status === "claimed") model.adopt(key, actual.fence);
      const states = await probe.peek(keys);
      if (states) deepEqual(states, await modelProbe.peek(keys), `step ${index + 1}, peek`);
    }
  }
}

export const modelCase = (modelRuns: number): StoreCase => ({
  title: "random calls and waits have the same results as a model of the transition table",
  async run(probe) {
    await fc.assert(
      fc.asyncProperty(stepsOf(probe.exact), async (steps) => {
        const model = new StoreModel();
        // Reads the store's current time, which is the fence of a new record.
        if (probe.exact) model.now = (await probe.own(newKey(), claimant(1))).fence;
        await compare(probe, model, steps);
      }),
      { numRuns: modelRuns },
    );
  },
});
