import { deepEqual } from "node:assert/strict";
import type {
  ClaimRequest,
  ClaimResult,
  CompleteResult,
  DeliveryStore,
  ReleaseRequest,
} from "@svc-webhooks/core";
import fc from "fast-check";
import { claimant, newKey, StoreProbe, type StoreCase } from "./store-probe.js";

interface ModelRecord {
  state: "running" | "done" | "failed" | "parked";
  token: string;
  lineage: string | undefined;
  leaseEndsAt: number;
  expiresAt: number;
  fence: number;
  run: number;
}

/** The transition table, as short as it can be told. Time stands still until `now` is set. */
class StoreModel implements DeliveryStore {
  readonly shared = false;
  now = 0;
  readonly #records = new Map<string, ModelRecord>();

  claim(key: string, request: ClaimRequest): ClaimResult {
    const { token, leaseMs, retainMs, lineage, takeParked } = request;
    const record = this.#find(key);
    if (record?.state === "done" || (record?.state === "parked" && !takeParked)) {
      return { status: record.state, lineage: record.lineage };
    }
    if (record && this.#leased(record)) {
      // More is left only where the clock was set back, or the lease is longer than this claim's.
      record.leaseEndsAt = Math.min(record.leaseEndsAt, this.now + leaseMs);
      const { fence, run, leaseEndsAt } = record;
      return record.token === token
        ? { status: "claimed", fence, run }
        : { status: "busy", leaseLeftMs: leaseEndsAt - this.now };
    }
    const fence = Math.max((record?.fence ?? 0) + 1, this.now);
    const run = record?.state === "parked" ? 1 : (record?.run ?? 0) + 1;
    const times = { leaseEndsAt: this.now + leaseMs, expiresAt: this.now + retainMs };
    this.#records.set(key, { state: "running", token, lineage, ...times, fence, run });
    return { status: "claimed", fence, run };
  }

  complete(key: string, { token, retainMs, lineage }: ClaimRequest): CompleteResult {
    const record = this.#find(key);
    const expiresAt = this.now + retainMs;
    if (record?.state === "done") {
      record.expiresAt = expiresAt;
      return "already";
    }
    const owned = this.#owned(record, token);
    const nothing = { leaseEndsAt: 0, fence: 0, run: 0 };
    this.#records.set(key, { state: "done", token: "", lineage, expiresAt, ...nothing });
    if (!record) return "restored";
    return owned ? "owner" : "late";
  }

  release(key: string, { token, retainMs, to }: ReleaseRequest): boolean {
    const record = this.#find(key);
    if (!this.#owned(record, token)) return false;
    record.state = to === "parked" ? "parked" : "failed";
    record.expiresAt = this.now + retainMs;
    if (to === "unused") record.run -= 1;
    return true;
  }

  extend(key: string, { token, leaseMs }: ClaimRequest): boolean {
    const record = this.#find(key);
    if (!this.#owned(record, token)) return false;
    record.leaseEndsAt = this.now + leaseMs;
    record.expiresAt = Math.max(record.expiresAt, record.leaseEndsAt);
    return true;
  }

  forget(key: string): boolean {
    const record = this.#find(key);
    return record !== undefined && !this.#leased(record) && this.#records.delete(key);
  }

  /** Takes over the fence that the store has given, where its clock is not known. */
  adopt(key: string, fence: number): void {
    const record = this.#find(key);
    if (record) record.fence = fence;
  }

  /**
   * Whether a lease or a retention has ended. What becomes of it when the clock is set back is the
   * store's business: some remove what has expired, others only look at the time.
   */
  hasEnded(): boolean {
    return [...this.#records.values()].some(
      (record) =>
        this.now >= record.expiresAt || (record.state === "running" && !this.#leased(record)),
    );
  }

  #find(key: string): ModelRecord | undefined {
    const record = this.#records.get(key);
    return record && this.now < record.expiresAt ? record : undefined;
  }

  #leased({ state, leaseEndsAt }: ModelRecord): boolean {
    return state === "running" && this.now < leaseEndsAt;
  }

  #owned(record: ModelRecord | undefined, token: string): record is ModelRecord {
    return record?.state === "running" && record.token === token;
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

/** All times are multiples of it, so that a clock that goes on by less cannot cross a border unseen. */
const gridMs = 5_000;
const leases = [10_000, 30_000];
const retentions = [40_000, 100_000];
const setBacks = [-gridMs, -50_000];
const waits = [...setBacks, gridMs, 10_000, 25_000, 30_000, 40_000, 95_000, 100_000];
// The borders of leases and retention are where stores go wrong.
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
    // A counterexample is easier to read without prototypes of null.
    { noNullPrototype: true },
  );
  const steps = fc.oneof({ arbitrary: step, weight: 5 }, { arbitrary: wait, weight: 1 });
  return fc.array(steps, { maxLength: 60, size: "max" });
};

/** A call, and its answer without what stores may add or leave out. */
async function ask(probe: StoreProbe, key: string, step: Exclude<Step, { waitMs: number }>) {
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

type Answer = Awaited<ReturnType<typeof ask>>;

/** What is right where the store's clock is not known: this answer, if it is not too far from the model's. */
function near(expected: Answer, actual: Answer): Answer {
  if (typeof expected !== "object" || typeof actual !== "object") return expected;
  if (expected.status === "claimed" && actual.status === "claimed") {
    return { ...expected, fence: Math.max(expected.fence, actual.fence) };
  }
  if (expected.status === "busy" && actual.status === "busy") {
    const { leaseLeftMs } = actual;
    const agedMs = expected.leaseLeftMs - leaseLeftMs;
    return agedMs >= 0 && agedMs < gridMs ? { ...expected, leaseLeftMs } : expected;
  }
  return expected;
}

/** Takes a store and the model through the same steps. */
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
      const expected = await ask(modelProbe, key, step);
      const actual = await ask(probe, key, step);
      const right = probe.exact ? expected : near(expected, actual);
      const shown = JSON.stringify({ expected, actual });
      deepEqual(actual, right, `step ${index + 1}, ${step.call}: ${shown}`);
      if (typeof actual === "object" && actual.status === "claimed") model.adopt(key, actual.fence);
    }
  }
}

export const modelCase = (modelRuns: number): StoreCase => ({
  title: "random calls and waits are answered as a model of the table answers them",
  async run(probe) {
    await fc.assert(
      fc.asyncProperty(stepsOf(probe.exact), async (steps) => {
        const model = new StoreModel();
        // A fresh record's fence is the store's clock.
        if (probe.exact) model.now = (await probe.own(newKey(), claimant(1))).fence;
        await compare(probe, model, steps);
      }),
      { numRuns: modelRuns },
    );
  },
});
