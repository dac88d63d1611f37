import { sized } from "@svc-webhooks/kit/sized";
import { signed } from "@svc-webhooks/kit/deliveries";
import { fakeClock, type FakeClock } from "@svc-webhooks/testing";
import fc from "fast-check";
import { expect, test } from "vitest";
import {
  memoryStore,
  type ClaimResult,
  type CompleteResult,
  type DeliveryStore,
} from "../src/index.js";
import { observed } from "./support.js";

const leaseMs = 30_000;

/** Tracks, from outside, which token holds the claim. Every result of the store passes through it. */
class Witness {
  owner: string | undefined;
  leaseEndsAt = 0;
  /** The number of copies that received `busy`. */
  busy = 0;
  /** The attempts whose handler resolved. */
  readonly resolved = new Set<number>();
  readonly violations: string[] = [];
  readonly #clock: FakeClock;

  constructor(clock: FakeClock) {
    this.#clock = clock;
  }

  must(holds: boolean, rule: string): void {
    if (!holds) this.violations.push(rule);
  }

  mustHaveResolved(what: string): void {
    this.must(this.resolved.size > 0, `${what} before any handler resolved`);
  }

  claimed(token: string, result: ClaimResult): ClaimResult {
    const { status } = result;
    const isLeased = this.owner !== undefined && this.#clock.now() < this.leaseEndsAt;
    if (isLeased && this.owner !== token) {
      this.must(status === "busy", `a copy got ${status} while another held the lease`);
    }
    if (status === "busy") this.busy += 1;
    if (status === "done") this.mustHaveResolved(status);
    if (status === "claimed") this.#renew(token);
    return result;
  }

  extended(token: string, extended: boolean): boolean {
    this.must(extended === (this.owner === token), "extend was not judged by the owner");
    if (extended) this.#renew(token);
    return extended;
  }

  released(token: string, released: boolean): boolean {
    this.must(released === (this.owner === token), "release was not judged by the owner");
    if (released) this.owner = undefined;
    return released;
  }

  completed(result: CompleteResult): CompleteResult {
    this.mustHaveResolved("complete");
    this.owner = undefined;
    return result;
  }

  #renew(token: string): void {
    this.owner = token;
    this.leaseEndsAt = this.#clock.now() + leaseMs;
  }
}

/** A call over a network: the scheduler decides when it and its result arrive, and whether the result is lost. */
type Travel = <T>(name: string, serve: () => T) => Promise<T>;

/** A store on a network. The memory store is synchronous, so its results are not promises. */
const remote = (store: DeliveryStore, witness: Witness, travel: Travel): DeliveryStore => ({
  ...store,
  claim: (key, by, call) =>
    travel("claim", () => witness.claimed(by.token, store.claim(key, by, call) as ClaimResult)),
  extend: (key, by, call) =>
    travel("extend", () => witness.extended(by.token, store.extend(key, by, call) as boolean)),
  release: (key, by, call) =>
    travel("release", () => witness.released(by.token, store.release(key, by, call) as boolean)),
  complete: (key, by, call) =>
    travel("complete", () => witness.completed(store.complete(key, by, call) as CompleteResult)),
});

interface Plan {
  readonly scheduler: fc.Scheduler;
  /** Whether the handler resolves, for each copy of the delivery. */
  readonly resolves: readonly boolean[];
  /** The steps of time that are interleaved with the calls. */
  readonly passing?: readonly number[];
  /** Whether the result is lost, for each result of the store in turn. */
  readonly losses?: readonly boolean[];
}

async function play({ scheduler, resolves, passing = [], losses = [] }: Plan) {
  let results = 0;
  const travel: Travel = async (name, serve) => {
    await scheduler.schedule(Promise.resolve(), `${name} arrives`);
    const result = serve();
    const isLost = losses[results++];
    await scheduler.schedule(Promise.resolve(), `${name} returns`);
    if (isLost) throw new Error(`the result of ${name} was lost`);
    return result;
  };
  const clock = fakeClock();
  const witness = new Witness(clock);
  let running = 0;
  let mostRunning = 0;
  const { receiver, reports } = observed({
    clock,
    store: remote(memoryStore({ clock }), witness, travel),
    on: {
      "*": async (_, { attempt = 0 }) => {
        running += 1;
        mostRunning = Math.max(mostRunning, running);
        await scheduler.schedule(Promise.resolve(), `handler of ${attempt}`);
        running -= 1;
        if (!resolves[attempt - 1]) throw new Error("not yet");
        witness.resolved.add(attempt);
      },
    },
  });

  const copies = await Promise.all(
    resolves.map((_, index) => signed(undefined, { "x-svc-attempt": String(index + 1) })),
  );
  scheduler.scheduleSequence(
    passing.map((ms) => ({ label: `${ms} ms pass`, builder: () => clock.advance(ms) })),
  );
  const received = copies.map(async (copy) => {
    const outcome = await receiver.receive(copy);
    const { code, status, attempt = 0 } = outcome;
    if (status === 200) witness.mustHaveResolved(code);
    if (code === "processed") {
      witness.must(witness.resolved.has(attempt), "processed before its own handler resolved");
    }
    return outcome;
  });
  const outcomes = await scheduler.waitFor(Promise.all(received));
  // The background work: late results, extensions, retries of `complete`.
  await scheduler.waitIdle();
  return { witness, outcomes, reports, mostRunning };
}

const resolves = fc.array(fc.boolean(), { minLength: 1, maxLength: 5 });

test("in any order of calls and results, one handler runs at a time, and no copy gets 2xx before one has resolved", async () => {
  await fc.assert(
    fc.asyncProperty(fc.scheduler(), resolves, async (scheduler, plan) => {
      const { witness, outcomes, mostRunning } = await play({ scheduler, resolves: plan });
      expect(witness.violations).toEqual([]);
      expect(mostRunning).toBe(1);
      expect(outcomes).toHaveLength(plan.length);
      const processed = outcomes.filter(({ code }) => code === "processed");
      expect(processed.length).toBeLessThanOrEqual(1);
      expect(witness.resolved.size).toBe(processed.length);
      expect(outcomes.filter(({ code }) => code === "in_flight")).toHaveLength(witness.busy);
      for (const { code } of outcomes) {
        expect(["processed", "duplicate", "in_flight", "handler_failed"]).toContain(code);
      }
    }),
    { numRuns: sized(100, 500) },
  );
});

test("one handler runs at a time, even while time passes, leases end and results are lost", async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.record<Plan>({
        scheduler: fc.scheduler(),
        resolves,
        passing: fc.array(fc.constantFrom(500, 1_500, 5_000, 10_000, 30_000, 60_000), {
          maxLength: 5,
        }),
        losses: fc.array(fc.boolean(), { maxLength: 12 }),
      }),
      async (plan) => {
        const { witness, outcomes, reports } = await play(plan);
        expect(witness.violations).toEqual([]);
        expect(outcomes).toHaveLength(plan.resolves.length);
        // The second report of a run that outlived its response must be right too.
        for (const { phase, code, attempt = 0 } of reports) {
          if (phase === "settled" && code === "processed") {
            expect(witness.resolved.has(attempt)).toBe(true);
          }
        }
      },
    ),
    { numRuns: sized(100, 500) },
  );
});
