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
import { FakeClock, secret, signed } from "./support.js";

const leaseMs = 30_000;

/** What is known from outside: who holds the claim, judged by what the store answered. */
class Witness {
  owner: string | undefined;
  leaseEndsAt = 0;
  /** How many copies were told that another one holds the lease. */
  busy = 0;
  /** How many handlers resolved, by the attempt that ran them. */
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

/** A store on a network: the scheduler decides when a call arrives and when its answer does, and whether it is lost. */
function remote(
  scheduler: fc.Scheduler,
  store: DeliveryStore,
  witness: Witness,
  isLost: () => boolean,
): DeliveryStore {
  const travel = async <T>(what: string, serve: () => T) => {
    await scheduler.schedule(Promise.resolve(), `${what} arrives`);
    const answer = serve();
    const lost = isLost();
    await scheduler.schedule(Promise.resolve(), `${what} answers`);
    if (lost) throw new Error(`the answer to ${what} was lost`);
    return answer;
  };
  // The memory store is synchronous: what it answers is there at once.
  return {
    ...store,
    claim: (key, request, call) =>
      travel("claim", () => {
        const answer = store.claim(key, request, call) as ClaimResult;
        witness.claimed(request.token, answer);
        return answer;
      }),
    extend: (key, request, call) =>
      travel("extend", () => {
        const answer = store.extend(key, request, call) as boolean;
        witness.extended(request.token, answer);
        return answer;
      }),
    release: (key, request, call) =>
      travel("release", () => {
        const answer = store.release(key, request, call) as boolean;
        witness.released(request.token, answer);
        return answer;
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
  /** For each copy of the delivery: does a handler that runs for it resolve? */
  readonly resolves: readonly boolean[];
  /** Steps of time that pass somewhere in between. */
  readonly passing: readonly number[];
  /** For each answer of the store in turn: does it get lost? */
  readonly losses: readonly boolean[];
}

async function play({ scheduler, resolves, passing, losses }: Plan) {
  const clock = new FakeClock();
  const witness = new Witness(clock);
  const reports: DeliveryReport[] = [];
  let answers = 0;
  let running = 0;
  let mostRunning = 0;
  const receiver = createReceiver({
    secret,
    clock,
    store: remote(scheduler, memoryStore({ clock }), witness, () => losses[answers++] ?? false),
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
  // What goes on in the background: late answers, extensions, further completes.
  await scheduler.waitIdle();
  return { witness, outcomes, reports, mostRunning };
}

const resolves = fc.array(fc.boolean(), { minLength: 1, maxLength: 5 });

test("in any order of calls and answers: one handler at a time, and no 2xx before one resolved", async () => {
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

test("also while time passes, leases end and answers are lost", async () => {
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
        // A run that outlived its answer ends as truthfully as any other.
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
