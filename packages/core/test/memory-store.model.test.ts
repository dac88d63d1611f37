import { fakeClock, type FakeClock } from "@svc-webhooks/testing";
import fc from "fast-check";
import { expect, test } from "vitest";
import { memoryStore, type DeliveryStore } from "../src/index.js";

const leaseMs = 30_000;
const retainMs = 100_000;
const call = { signal: new AbortController().signal };

interface ModelRecord {
  state: "running" | "done" | "failed" | "parked";
  token: string;
  leaseEndsAt: number;
  expiresAt: number;
  fence: number;
  run: number;
  lineage: string;
}

/** The transition table, row by row, without eviction: the store must behave the same. */
class Model {
  readonly records = new Map<string, ModelRecord>();
  readonly #clock: FakeClock;

  constructor(clock: FakeClock) {
    this.#clock = clock;
  }

  #find(key: string): ModelRecord | undefined {
    const record = this.records.get(key);
    if (record && record.expiresAt <= this.#clock.now()) this.records.delete(key);
    return this.records.get(key);
  }

  #leased(record: ModelRecord): boolean {
    return record.state === "running" && this.#clock.now() < record.leaseEndsAt;
  }

  claim(key: string, token: string, lineage: string): unknown {
    const now = this.#clock.now();
    const record = this.#find(key);
    if (record?.state === "done") return { status: "done", lineage: record.lineage };
    if (record?.state === "parked") return { status: "parked", lineage: record.lineage };
    if (record && this.#leased(record)) {
      return record.token === token
        ? { status: "claimed", fence: record.fence, run: record.run, evictedEarly: false }
        : { status: "busy", leaseLeftMs: record.leaseEndsAt - now };
    }
    const run = (record?.run ?? 0) + 1;
    const fence = Math.max((record?.fence ?? 0) + 1, now);
    this.records.set(key, {
      state: "running",
      token,
      leaseEndsAt: now + leaseMs,
      expiresAt: now + retainMs,
      fence,
      run,
      lineage,
    });
    return { status: "claimed", fence, run, evictedEarly: false };
  }

  complete(key: string, token: string, lineage: string): string {
    const expiresAt = this.#clock.now() + retainMs;
    const record = this.#find(key);
    if (!record) {
      const fresh = { token: "", leaseEndsAt: 0, fence: 0, run: 0 };
      this.records.set(key, { ...fresh, state: "done", expiresAt, lineage });
      return "restored";
    }
    const { state } = record;
    Object.assign(record, { state: "done", expiresAt });
    if (state === "done") return "already";
    record.lineage = lineage;
    return state === "running" && record.token === token ? "owner" : "late";
  }

  release(key: string, token: string, to: "failed" | "parked" | "unused"): boolean {
    const record = this.#find(key);
    if (record?.state !== "running" || record.token !== token) return false;
    record.state = to === "parked" ? "parked" : "failed";
    record.expiresAt = this.#clock.now() + retainMs;
    if (to === "unused") record.run -= 1;
    return true;
  }

  extend(key: string, token: string): boolean {
    const record = this.#find(key);
    if (record?.state !== "running" || record.token !== token) return false;
    record.leaseEndsAt = this.#clock.now() + leaseMs;
    record.expiresAt = Math.max(record.expiresAt, record.leaseEndsAt);
    return true;
  }

  forget(key: string): boolean {
    const record = this.#find(key);
    if (!record || this.#leased(record)) return false;
    return this.records.delete(key);
  }
}

interface Pair {
  readonly model: Model;
  readonly store: DeliveryStore;
  readonly clock: FakeClock;
}

type Step = { readonly shown: string; readonly run: (pair: Pair) => readonly [unknown, unknown] };

const key = fc.constantFrom("a", "b");
const token = fc.constantFrom("t1", "t2", "t3");
const lineage = fc.constantFrom("l1", "l2");

const steps: readonly fc.Arbitrary<Step>[] = [
  fc.tuple(key, token, lineage).map(([k, t, l]) => ({
    shown: `claim(${k}, ${t})`,
    run: ({ model, store }) => [
      model.claim(k, t, l),
      store.claim(k, { token: t, leaseMs, retainMs, lineage: l }, call),
    ],
  })),
  fc.tuple(key, token, lineage).map(([k, t, l]) => ({
    shown: `complete(${k}, ${t})`,
    run: ({ model, store }) => [
      model.complete(k, t, l),
      store.complete(k, { token: t, leaseMs, retainMs, lineage: l }, call),
    ],
  })),
  fc
    .tuple(key, token, fc.constantFrom("failed" as const, "parked" as const, "unused" as const))
    .map(([k, t, to]) => ({
      shown: `release(${k}, ${t}, ${to})`,
      run: ({ model, store }) => [
        model.release(k, t, to),
        store.release(k, { token: t, leaseMs, retainMs, to }, call),
      ],
    })),
  fc.tuple(key, token).map(([k, t]) => ({
    shown: `extend(${k}, ${t})`,
    run: ({ model, store }) => [
      model.extend(k, t),
      store.extend(k, { token: t, leaseMs, retainMs }, call),
    ],
  })),
  key.map((k) => ({
    shown: `forget(${k})`,
    run: ({ model, store }) => [model.forget(k), store.forget(k, call)],
  })),
  // Faults of stores are most likely at the limits of the lease and of the retention.
  fc
    .constantFrom(1, leaseMs - 1, leaseMs, leaseMs + 1, retainMs - leaseMs, retainMs - 1, retainMs)
    .map((ms) => ({
      shown: `wait(${ms})`,
      run: ({ clock }) => {
        clock.jump(ms);
        return [undefined, undefined];
      },
    })),
];

class Command implements fc.Command<Pair, Pair> {
  readonly #step: Step;

  constructor(step: Step) {
    this.#step = step;
  }

  check(): boolean {
    return true;
  }

  run(pair: Pair): void {
    const [expected, actual] = this.#step.run(pair);
    expect(actual).toStrictEqual(expected);
  }

  toString(): string {
    return this.#step.shown;
  }
}

test("the memory store follows the transition table, also at the limits of lease and retention", () => {
  fc.assert(
    fc.property(
      fc.commands(
        steps.map((step) => step.map((made) => new Command(made))),
        { maxCommands: 60, size: "max" },
      ),
      (commands) => {
        fc.modelRun(() => {
          const clock = fakeClock();
          const pair = { model: new Model(clock), store: memoryStore({ clock }), clock };
          return { model: pair, real: pair };
        }, commands);
      },
    ),
    { numRuns: 1_000 },
  );
});
