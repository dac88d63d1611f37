import { deepEqual, equal, fail, ok } from "node:assert/strict";
import { setTimeout } from "node:timers/promises";
import {
  createIntake,
  createReceiver,
  memoryStore,
  systemClock,
  type AnyEvent,
  type Clock,
  type DeliveryContext,
  type DeliveryStore,
  type MaybePromise,
  type Outcome,
  type Receiver,
  type ReceiverOptions,
  type StoredDelivery,
} from "@svc-webhooks/core";
import {
  defineInbox,
  type InboxAdmin,
  type InboxEntry,
  type InboxJob,
  type InboxQuery,
} from "@svc-webhooks/core/inbox";
import { receiveBy } from "../accepting.js";
import { fixture, type FixtureOverrides, type Fixtures } from "../fixture.js";
import { signedDelivery } from "../signed-delivery.js";
import type { InboxConnection, InboxUnderTest, InboxWorker } from "./subject.js";

/** One run of the handler. */
export interface Run {
  readonly process: Process;
  readonly event: AnyEvent;
  readonly context: DeliveryContext;
  /** The number of the run, counted across all events from 1. */
  readonly count: number;
  /** The time at which the run started, in epoch milliseconds. */
  readonly startedAt: number;
  endedAt?: number;
}

type Behavior = (run: Run) => unknown;

export interface InboxCase {
  readonly title: string;
  /** The settings of the queue. Default: three attempts, without order. */
  readonly settings?: {
    readonly attempts?: number;
    readonly afterDead?: "continue" | "hold";
  };
  /** The abilities that the queue needs for the case. */
  readonly needs?: readonly Ability[];
  readonly run: (probe: InboxProbe) => Promise<void>;
}

export type Ability =
  "admin" | "deduplicates" | "demote" | "fill" | "kill" | "limit" | "order" | "silence";

/** The options of the contract that limit its cases. */
export interface Probing {
  readonly intake: boolean;
  readonly maxBodyBytes: number;
  readonly timeoutMs: number;
}

/** The source of the events of an intake. */
const source = "contract";

/** A receiver's default body limit, in bytes. */
export const mib = 1_048_576;
/** The pauses between two checks of a condition, in real time and on a fake clock, in milliseconds. */
const realPauseMs = 20;
const fakePauseMs = 250;

/** Simulates one process: a connection to the queue, a receiver and perhaps a worker. */
export class Process {
  readonly connection: InboxConnection;
  readonly receiver: Pick<Receiver, "resume"> & {
    readonly receive: (delivery: StoredDelivery) => Promise<Outcome>;
  };
  /** The number of claims that found the record busy. */
  busyClaims = 0;
  /** The number of future claims that fail before they reach the store. */
  failingClaims = 0;
  #isDead = false;
  #isFrozen = false;

  constructor(connection: InboxConnection, probe: InboxProbe, options: Partial<ReceiverOptions>) {
    this.connection = connection;
    const handler = (event: unknown, context: DeliveryContext) =>
      probe.handle(this, event as AnyEvent, context);
    const common: Omit<ReceiverOptions, "secret"> = {
      name: "contract",
      clock: probe.clock,
      store: this.#view(probe.store),
      leaseMs: 10_000,
      maxBodyBytes: Math.min(probe.maxBodyBytes, mib),
      on: { "*": connection.inbox(handler) },
      onHandlerError: () => {},
      logger: { info() {}, warn() {}, error() {} },
      ...options,
    };
    if (probe.source) {
      const intake = createIntake({ ...common, sources: [probe.source] });
      this.receiver = { resume: intake.resume, receive: receiveBy(intake) };
    } else {
      this.receiver = createReceiver({ ...common, secret: "whsec_test" });
    }
  }

  /** Returns the store as this process reaches it. After the death of the process, the calls never settle. */
  #view(store: DeliveryStore): DeliveryStore {
    const reach = <Result>(call: () => MaybePromise<Result>): MaybePromise<Result> =>
      this.#isDead ? new Promise<never>(() => {}) : call();
    return {
      shared: true,
      claim: async (...args) => {
        if (this.failingClaims > 0) {
          this.failingClaims -= 1;
          throw new Error("The contract made the store unavailable.");
        }
        const result = await reach(() => store.claim(...args));
        if (result.status === "busy") this.busyClaims += 1;
        return result;
      },
      complete: (...args) => reach(() => store.complete(...args)),
      release: (...args) => reach(() => store.release(...args)),
      extend: (...args) => (this.#isFrozen ? false : reach(() => store.extend(...args))),
      forget: (...args) => reach(() => store.forget(...args)),
      peek: (...args) => reach(() => store.peek?.(...args) ?? []),
    };
  }

  get admin(): InboxAdmin {
    return (
      this.connection.admin ??
      fail("`connect` must return `admin` unless the option `admin` is false.")
    );
  }

  async work(): Promise<InboxWorker> {
    return this.connection.work(this.receiver);
  }

  /** Makes the process unable to extend its leases, as if it were frozen. Its other calls still work. */
  freeze(): void {
    this.#isFrozen = true;
  }

  /** Silences the connections of the process to the queue. The process still reaches the store. */
  async silence(): Promise<void> {
    await (
      this.connection.silence ??
      fail("`connect` must return `silence` unless the option `silence` is false.")
    )();
  }

  /** Ends the process as SIGKILL would: it no longer reaches the queue or the store. */
  async kill(): Promise<void> {
    this.#isDead = true;
    await (
      this.connection.kill ??
      fail("`connect` must return `kill` unless the option `kill` is false.")
    )();
  }
}

/** Accepts deliveries, starts workers, and checks the resulting jobs and runs. */
export class InboxProbe {
  readonly clock: Clock;
  readonly store: DeliveryStore;
  readonly maxBodyBytes: number;
  /** The source of all events. Undefined if a receiver verifies them. */
  readonly source: string | undefined;
  readonly runs: Run[] = [];
  /** The handler, called for each run. Cases replace this function. If it throws or rejects, the run fails. */
  behavior: Behavior = () => {};
  readonly #under: InboxUnderTest;
  readonly #timeoutMs: number;
  readonly #processes: Process[] = [];
  #events = 0;

  constructor(under: InboxUnderTest, { intake, maxBodyBytes, timeoutMs }: Probing) {
    this.#under = under;
    this.#timeoutMs = timeoutMs;
    this.maxBodyBytes = maxBodyBytes;
    this.source = intake ? source : undefined;
    this.clock = under.clock ?? systemClock;
    this.store = under.store ?? memoryStore({ clock: this.clock });
  }

  /** Starts a process. `options` override the default options of its receiver. */
  async process(options: Partial<ReceiverOptions> = {}): Promise<Process> {
    const process = new Process(await this.#under.connect(), this, options);
    this.#processes.push(process);
    return process;
  }

  /** Starts a process with a worker. */
  async worker(options: Partial<ReceiverOptions> = {}): Promise<Process> {
    const process = await this.process(options);
    await process.work();
    return process;
  }

  async handle(process: Process, event: AnyEvent, context: DeliveryContext): Promise<void> {
    const count = this.runs.length + 1;
    const run: Run = { process, event, context, count, startedAt: this.clock.now() };
    this.runs.push(run);
    try {
      await this.behavior(run);
    } finally {
      run.endedAt = this.clock.now();
    }
  }

  /** Creates a delivery of a new `email.sent` event. */
  delivery(
    overrides?: FixtureOverrides<Omit<Fixtures["email.sent"], "type">>,
  ): Promise<StoredDelivery> {
    this.#events += 1;
    return signedDelivery(fixture("email.sent", overrides, this.#events));
  }

  /** Creates deliveries of new `email.sent` events. */
  async deliveries(count: number): Promise<StoredDelivery[]> {
    return Promise.all(Array.from({ length: count }, () => this.delivery()));
  }

  /** Receives a delivery, and resolves to its outcome. */
  receive(process: Process, delivery: StoredDelivery): Promise<Outcome> {
    return this.settled("the delivery has an outcome", process.receiver.receive(delivery));
  }

  /** Receives a delivery repeatedly, as a sender retries, until its job is stored. The queue may be busy at first. */
  async accept(process: Process, delivery?: StoredDelivery): Promise<StoredDelivery> {
    const sent = delivery ?? (await this.delivery());
    let code = "";
    const isStored = async () => {
      ({ code } = await this.receive(process, sent));
      return code === "enqueued";
    };
    await this.until("the delivery is stored", isStored, () => `It ended as ${code}.`);
    return sent;
  }

  /** Makes another server the primary. */
  async demote(): Promise<void> {
    await (
      this.#under.demote ??
      fail("`makeInbox` must return `demote` unless the option `demote` is false.")
    )();
  }

  /** Leaves little room in the server's storage. */
  async fill(): Promise<void> {
    await (
      this.#under.fill ?? fail("`makeInbox` must return `fill` unless the option `fill` is false.")
    )();
  }

  /** Moves the queue's fake clock by a day. Resolves to false if the queue uses real time. */
  async passDay(): Promise<boolean> {
    await this.#under.clock?.advance(86_400_000);
    return this.#under.clock !== undefined;
  }

  /** Resolves to the job that the receiver would store for the delivery, without storing it. */
  async jobOf(delivery: StoredDelivery): Promise<InboxJob> {
    let job: InboxJob | undefined;
    const capture = defineInbox(async (newJob) => void (job = newJob));
    const { receiver } = new Process({ inbox: capture, work: () => ({ stop() {} }) }, this, {});
    await receiver.receive(delivery);
    return job ?? fail("The receiver stored no job.");
  }

  /** Adds a job with any data to the queue, even data that no inbox would store. */
  async inject(data: object): Promise<void> {
    await this.#under.inject(data);
  }

  /** Returns the runs of a delivery. */
  runsOf({ headers }: StoredDelivery): readonly Run[] {
    const id = headers["x-svc-delivery-id"];
    return this.runs.filter(({ context }) => context.deliveryId === id);
  }

  async deadLetters(): Promise<readonly Pick<InboxEntry, "key" | "error">[]> {
    if (this.#under.deadLetters) return this.#under.deadLetters();
    // Uses the newest process, because an earlier process may be dead.
    const process = this.#processes.at(-1);
    return process ? this.list(process, { state: "dead" }) : [];
  }

  /** Waits until there are exactly `count` dead letters, and returns them. */
  async died(count: number): Promise<readonly Pick<InboxEntry, "key" | "error">[]> {
    await this.until(
      `there are ${count} dead letters`,
      async () => (await this.deadLetters()).length === count,
    );
    return this.deadLetters();
  }

  /** Waits for the dead letter of a delivery, which must be the only one, and returns its error. */
  async errorOf(delivery: StoredDelivery): Promise<string> {
    const [letter] = await this.died(1);
    equal(letter?.key, (await this.jobOf(delivery)).key);
    return letter.error ?? "";
  }

  /**
   * Checks that the first two runs are at least `leastMs` apart. Tolerates 100 ms less, because timers may fire early.
   * `text` begins the error message.
   */
  pausedFor(leastMs: number, text: string): void {
    const [first, second] = this.runs;
    const pauseMs = (second?.startedAt ?? 0) - (first?.endedAt ?? 0);
    ok(pauseMs >= leastMs - 100, `${text} after ${pauseMs} ms instead of ${leastMs} ms.`);
  }

  /** Waits until the handler has run at least `count` times. */
  async ran(count: number): Promise<void> {
    await this.until(`the handler has run ${count} times`, () => this.runs.length >= count);
  }

  async list({ admin }: Process, query: InboxQuery): Promise<readonly InboxEntry[]> {
    const entries: InboxEntry[] = [];
    for await (const entry of admin.list(query)) entries.push(entry);
    return entries;
  }

  /** Returns the only job in a state. Fails the case unless there is exactly one. */
  async only(process: Process, state: InboxEntry["state"]): Promise<InboxEntry> {
    const [entry, ...others] = await this.list(process, { state });
    if (!entry || others.length > 0)
      fail(`One job should be ${state}, not ${others.length + (entry ? 1 : 0)}.`);
    return entry;
  }

  /** Waits until `stats` reports these numbers of jobs, and 0 for each state that `expected` does not name. */
  async counts(
    process: Process,
    expected: Partial<Record<InboxEntry["state"], number>>,
  ): Promise<void> {
    const all = { ready: 0, delayed: 0, active: 0, dead: 0, ...expected };
    let counts: object = {};
    const isEqual = async () => {
      const { ready, delayed, active, dead } = await process.admin.stats();
      counts = { ready, delayed, active, dead };
      return JSON.stringify(counts) === JSON.stringify(all);
    };
    const text = `stats() reports ${JSON.stringify(all)}`;
    await this.until(text, isEqual, () => `It reports ${JSON.stringify(counts)}.`);
  }

  /**
   * Accepts another event, and waits until it has run. First moves a fake clock by a minute, which exceeds the pauses
   * between attempts, so that by then the queue has also run any jobs that it wrongly repeats.
   */
  async passes(process: Process): Promise<void> {
    await this.#under.clock?.advance(60_000);
    const { behavior } = this;
    const delivery = await this.delivery();
    const id = delivery.headers["x-svc-delivery-id"];
    this.behavior = (run) => (run.context.deliveryId === id ? undefined : behavior(run));
    await this.accept(process, delivery);
    await this.until(
      "an event that was accepted afterwards has run",
      () => this.runsOf(delivery)[0]?.endedAt !== undefined,
    );
    this.behavior = behavior;
  }

  /** Checks that the runs of a delivery have exactly these run numbers, in this order. */
  ranAs(delivery: StoredDelivery, expected: readonly number[]): void {
    deepEqual(
      this.runsOf(delivery).map(({ context }) => context.run),
      expected,
      "The runs of this delivery do not have the expected run numbers. Compare the two lists.",
    );
  }

  /** Waits for a promise while the queue's clock moves, and settles like the promise. */
  async settled<Result>(text: string, promise: Promise<Result>): Promise<Result> {
    let isSettled = false;
    const settle = () => void (isSettled = true);
    promise.then(settle, settle);
    await this.until(text, () => isSettled);
    return promise;
  }

  /** Waits until a condition holds. `hint` returns a sentence for the error, which states what was found instead. */
  async until(
    text: string,
    holds: () => MaybePromise<boolean>,
    hint = () => `The handler has run ${this.runs.length} times.`,
  ): Promise<void> {
    const { clock } = this.#under;
    for (let waitedMs = 0; !(await holds()); waitedMs += clock ? fakePauseMs : realPauseMs) {
      ok(
        waitedMs < this.#timeoutMs,
        `Gave up after waiting ${this.#timeoutMs} ms until ${text}. ${hint()}`,
      );
      if (clock) await clock.advance(fakePauseMs);
      else await setTimeout(realPauseMs);
    }
  }
}

/** A promise that a case resolves with `open`. */
interface Gate {
  readonly passed: Promise<void>;
  readonly open: () => void;
}

export function gate(): Gate {
  let open!: () => void;
  const passed = new Promise<void>((resolve) => (open = resolve));
  return { passed, open };
}
