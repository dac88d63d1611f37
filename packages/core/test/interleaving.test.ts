import { secret, signed } from "@svc-webhooks/kit/deliveries";
import { fakeClock, type FakeClock } from "@svc-webhooks/testing";
import fc from "fast-check";
import { expect, test } from "vitest";
import {
  createReceiver,
  memoryStore,
  type ClaimResult,
  type CompleteResult,
  type Delivery,
  type DeliveryReport,
  type DeliveryStore,
  type Outcome,
} from "../src/index.js";

const leaseMs = 30_000;

/** An outside view of which token holds the claim, from the store's results. */
class Witness {
  owner: string | undefined;
  leaseEndsAt = 0;
  /** The number of copies that got `busy`. */
  busy = 0;
  /** The number of handlers that resolved, by the attempt that ran them. */
  readonly resolved = new Map<number, number>();
  readonly violations: string[] = [];
  readonly #clock: FakeClock;

  constructor(clock: FakeClock) {
    this.#clock = clock;
  }

  get leased(): boolean {
    return this.owner !== undefined && this.#clock.now() < this.leaseEndsAt;
  }

  must(holds: boolean, rule: string): void {
    if (!holds) this.violations.push(rule);
  }

  claimed(token: string, { status }: ClaimResult): void {
    const others = this.leased && this.owner !== token;
    if (others) this.must(status === "busy", `a copy got ${status} while another held the lease`);
    if (status === "busy") this.busy += 1;
    if (status === "done") this.must(this.resolved.size > 0, "done before any handler resolved");
    if (status !== "claimed") return;
    this.owner = token;
    this.leaseEndsAt = this.#clock.now() + leaseMs;
  }

  extended(token: string, extended: boolean): void {
    this.must(extended === (this.owner === token), "extend was not judged by the owner");
    if (extended) this.leaseEndsAt = this.#clock.now() + leaseMs;
  }

  released(token: string, released: boolean): void {
    this.must(released === (this.owner === token), "release was not judged by the owner");
    if (released) this.owner = undefined;
  }

  completed(): void {
    this.must(this.resolved.size > 0, "complete before any handler resolved");
    this.owner = undefined;
  }
}

/** A store on a network: the scheduler decides when a call and its result arrive, and whether the result is lost. */
function remote(
  scheduler: fc.Scheduler,
  store: DeliveryStore,
  witness: Witness,
  isLost: () => boolean,
): DeliveryStore {
  const travel = async <T>(name: string, serve: () => T) => {
    await scheduler.schedule(Promise.resolve(), `${name} arrives`);
    const result = serve();
    const lost = isLost();
    await scheduler.schedule(Promise.resolve(), `${name} returns`);
    if (lost) throw new Error(`the result of ${name} was lost`);
    return result;
  };
  // The memory store is synchronous, so its results are not promises.
  return {
    ...store,
    claim: (key, request, call) =>
      travel("claim", () => {
        const result = store.claim(key, request, call) as ClaimResult;
        witness.claimed(request.token, result);
        return result;
      }),
    extend: (key, request, call) =>
      travel("extend", () => {
        const result = store.extend(key, request, call) as boolean;
        witness.extended(request.token, result);
        return result;
      }),
    release: (key, request, call) =>
      travel("release", () => {
        const result = store.release(key, request, call) as boolean;
        witness.released(request.token, result);
        return result;
      }),
    complete: (key, request, call) =>
      travel("complete", () => {
        witness.completed();
        return store.complete(key, request, call) as CompleteResult;
      }),
  };
}

interface Plan {
  readonly scheduler: fc.Scheduler;
  /** For each copy of the delivery: whether its handler resolves. */
  readonly resolves: readonly boolean[];
  /** Steps of time, interleaved with the calls. */
  readonly passing: readonly number[];
  /** For each result of the store in turn: whether it is lost. */
  readonly losses: readonly boolean[];
}

async function play({ scheduler, resolves, passing, losses }: Plan) {
  const clock = fakeClock();
  const witness = new Witness(clock);
  const reports: DeliveryReport[] = [];
  let results = 0;
  let running = 0;
  let mostRunning = 0;
  const receiver = createReceiver({
    secret,
    clock,
    store: remote(scheduler, memoryStore({ clock }), witness, () => losses[results++] ?? false),
    log: () => {},
    onHandlerError: () => {},
    observe: (report) => reports.push(report),
    on: {
      "*": async (_, { attempt = 0 }) => {
        running += 1;
        mostRunning = Math.max(mostRunning, running);
        await scheduler.schedule(Promise.resolve(), `handler of ${attempt}`);
        running -= 1;
        if (!resolves[attempt - 1]) throw new Error("not yet");
        witness.resolved.set(attempt, (witness.resolved.get(attempt) ?? 0) + 1);
      },
    },
  });

  const outcomes: Outcome[] = [];
  const receive = async (delivery: Delivery) => {
    const outcome = await receiver.receive(delivery);
    const { code, status, attempt = 0 } = outcome;
    outcomes.push(outcome);
    if (code === "processed") {
      witness.must(witness.resolved.has(attempt), "processed before its handler resolved");
    }
    if (code === "duplicate") {
      witness.must(witness.resolved.size > 0, "duplicate before any handler resolved");
    }
    if (status === 200) {
      witness.must(witness.resolved.size > 0, `${code} before any handler resolved`);
    }
  };
  const copies = await Promise.all(
    resolves.map((_, index) => signed(undefined, { "x-svc-attempt": String(index + 1) })),
  );
  scheduler.scheduleSequence(
    passing.map((ms) => ({ label: `${ms} ms pass`, builder: () => clock.advance(ms) })),
  );
  const received = Promise.all(copies.map(receive));
  await scheduler.waitFor(received);
  // Background work: late results, extensions, retries of complete.
  await scheduler.waitIdle();
  return { witness, outcomes, reports, mostRunning };
}

const resolves = fc.array(fc.boolean(), { minLength: 1, maxLength: 5 });

test("in any order of calls and results, one handler runs at a time, and no copy gets 2xx before one has resolved", async () => {
  await fc.assert(
    fc.asyncProperty(fc.scheduler(), resolves, async (scheduler, plan) => {
      const { witness, outcomes, mostRunning } = await play({
        scheduler,
        resolves: plan,
        passing: [],
        losses: [],
      });
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
    { numRuns: 500 },
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
    { numRuns: 500 },
  );
});
