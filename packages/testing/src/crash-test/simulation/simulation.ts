import {
  memoryStore,
  type Clock,
  type DeliveryStore,
  type Logger,
  type Receiver,
} from "@svc-webhooks/core";
import {
  CrashTestError,
  randomOf,
  type Attempt,
  type Fault,
  type History,
  type WorldState,
} from "@svc-webhooks/crash-test";
import { signedDelivery } from "../../signed-delivery.js";
import { accessName, isHeldBack, isReal } from "../globals/access.js";
import type { Database } from "../postgres/engine.js";
import { createPool, type PgPool } from "../postgres/pool.js";
import { Server } from "../postgres/server.js";
import { crossingEffect } from "../surface/effect.js";
import { crossingFetch, inWorld, type Respond } from "../surface/fetch.js";
import { whereCalled } from "../surface/source.js";
import { crossingStore } from "../surface/store.js";
import type { World } from "../world.js";
import { Crossings, type Mutable } from "./crossings.js";
import { inside, type Inside } from "./inside.js";
import { SimulatedProcess } from "./process.js";
import { messageOf, oneLine, thrownBy } from "./message.js";
import { drive, withoutTime } from "./scheduler.js";
import { Sender, type Target } from "./sender.js";
import { VirtualTime } from "./time.js";

/** How long code may continue after the last response and the last fault, in milliseconds. */
const restMs = 120_000;
/** The number of timers after which that limit applies: a slow run ends, a timer that repeats does not. */
const mostTimers = 500;
/** The lease of a receiver whose claims do not show one, in milliseconds. */
const defaultLeaseMs = 30_000;
/** The key of the simulated sender. */
const secret = "whsec_crash_test";

/** The code under test, and the world around it. */
export interface Setting {
  readonly events: readonly unknown[];
  readonly receiver: (world: World) => Receiver | Promise<Receiver>;
  readonly respond: Respond;
  readonly observe: Readonly<Record<string, () => unknown>>;
  readonly database: Database;
}

/** How one history differs from others. */
export interface Course {
  readonly faults: readonly Fault[];
  /** The order in which the events are delivered first: indices. */
  readonly order: readonly number[];
  readonly seed: number;
  readonly startMs: number;
  /** Whether files are ignored: the first history loads modules. */
  readonly isWarmUp: boolean;
  /** Whether the places at which promises are created are noted, so that more calls have a line. */
  readonly isTraced: boolean;
}

/** One history: simulated processes, a sender, and a scheduler that moves them on. */
export class Simulation {
  readonly #setting: Setting;
  readonly #course: Course;
  readonly #time: VirtualTime;
  readonly #random: () => number;
  readonly #crossings: Crossings;
  readonly #attempts: Mutable<Attempt>[] = [];
  readonly #sender: Sender;
  readonly #server: Server;
  readonly #store: DeliveryStore;
  readonly #targets: Target[] = [];
  readonly #processes: SimulatedProcess[] = [];
  readonly #unseen = new Set<string>();
  #isReal = false;
  readonly #pendingOperations = new Set<number>();
  readonly #afterEvents: WorldState[] = [];
  #leaseMs = defaultLeaseMs;
  #restUntilMs = restMs;
  #faultsUntilMs = 0;
  /** The number of timers that had fired when the last delivery ended. */
  #timersAtEnd: number | undefined;
  #worldAtDeath: string | undefined;
  #isOver = false;
  #lastError: string | undefined;
  /** Keeps the last error, for an event that is not acknowledged without a fault. */
  readonly #logger: Logger = {
    info() {},
    warn() {},
    error: (line) => {
      // A stack begins on the second line: its first frame is enough.
      const [text = "", frame = ""] = line.split("\n");
      this.#lastError = oneLine(`${text.slice(0, 300)} ${frame.trim()}`.trim());
    },
  };
  #failure: { readonly error: unknown } | undefined;

  constructor(setting: Setting, course: Course) {
    this.#setting = setting;
    this.#course = course;
    this.#time = new VirtualTime(course.startMs);
    this.#random = randomOf(course.seed);
    const attempts = this.#attempts;
    this.#crossings = new Crossings(
      course.faults,
      this.#time,
      {
        copy: (attempt, from) => this.#inBackground(() => this.#sender.copy(attempt, from)),
        crash: (process) => {
          this.#twoLeasesMs();
          this.#crash(process);
        },
        freeze: (process) => this.#freeze(process),
        transactionOf: (process, attempt) => this.#server.transactionOf(process, attempt),
        twoLeasesMs: () => this.#twoLeasesMs(),
      },
      attempts,
    );
    const { steps } = this.#crossings;
    this.#sender = new Sender(
      setting.events.length,
      this.#time,
      { attempts, steps },
      {
        target: (not) => this.#target(not),
        deliver: ({ process }, attempt, run) => inside.run(this.#insideOf(process, attempt), run),
        inBackground: (work) => this.#inBackground(work),
        deliveryOf: (event, n) =>
          signedDelivery(setting.events[event], {
            secret,
            deliveryId: `dlv_${event + 1}`,
            attempt: n,
          }),
        areFaultsOver: () => this.#time.elapsedMs >= this.#faultsUntilMs,
        onAcknowledged: async () => {
          this.#restUntilMs = Math.max(this.#restUntilMs, this.#time.elapsedMs + restMs);
          if (course.faults.length === 0) this.#afterEvents.push(await this.#state());
        },
      },
    );
    const { exchange } = setting.database;
    this.#server = new Server(this.#crossings, this.#time, exchange, this.#onLease, (error) => {
      this.#failure ??= { error };
    });
    this.#store = memoryStore({ clock: this.#clock() });
  }

  /** Runs code before the first history, in its time. */
  async prepare(run: (world: Pick<World, "pool">) => Promise<void>): Promise<void> {
    const process = this.#newProcess("");
    const world = this.#world(process);
    const preparing = inside.run(this.#insideOf(process), async () => run(world));
    await this.#driven("prepare", naming("prepare", preparing));
    process.kill();
  }

  /**
   * Runs the history to its end.
   *
   * @param onStarted called when the first process has started, before the first delivery
   */
  async run(onStarted?: () => Promise<void>): Promise<History> {
    const observedBefore = await this.#observe();
    await this.#driven("receiver", this.#target());
    await onStarted?.();
    const isUndisturbed = this.#course.faults.length === 0;
    const start = isUndisturbed ? await this.#state() : undefined;
    this.#inBackground(() => this.#sender.start(this.#course.order));
    await drive(
      this.#scheduled,
      () => this.#failure !== undefined,
      () => this.#untilMs(),
    );
    this.#isOver = true;
    if (this.#failure) throw this.#failure.error;
    const blocked = this.#crossings.recordBlocked();
    const { records, steps, calls } = this.#crossings;
    const waiting = records.find(({ waitsForOwn }) => waitsForOwn) ?? blocked;
    const transaction = this.#server.open;
    const isStuck = waiting !== undefined || transaction !== undefined;
    for (const process of this.#processes) process.kill();
    const end = await this.#state();
    return {
      faults: this.#course.faults,
      crossings: records,
      attempts: this.#attempts,
      steps,
      calls,
      start,
      end: { ...end, observed: since(observedBefore, end.observed) },
      afterEvents: this.#afterEvents.length > 0 ? this.#afterEvents : undefined,
      acknowledged: this.#sender.acknowledged,
      stuck: isStuck ? { crossing: waiting?.n, transaction } : undefined,
      unseen: [...this.#unseen],
      notCompared: this.#setting.database.notCompared,
      isReal: this.#isReal,
      lastError: this.#lastError,
      notReached: this.#crossings.notReached,
      worldAtDeath: this.#worldAtDeath,
    };
  }

  /** Returns the time at which the history ends, if code is still waiting for timers. */
  #untilMs(): number {
    if (!this.#sender.hasEnded) return Infinity;
    this.#timersAtEnd ??= this.#time.fired;
    return this.#time.fired - this.#timersAtEnd < mostTimers ? Infinity : this.#restUntilMs;
  }

  get #scheduled() {
    const pendingOperations = this.#pendingOperations;
    return { time: this.#time, crossings: this.#crossings, pendingOperations };
  }

  /** Moves time on until work has settled, and settles like it. */
  async #driven<Result>(option: string, work: Promise<Result>): Promise<Result> {
    let isSettled = false;
    const settle = () => {
      isSettled = true;
      this.#time.activity += 1;
    };
    work.then(settle, settle);
    const isDone = await drive(
      this.#scheduled,
      () => isSettled || this.#failure !== undefined,
      () => Infinity,
    );
    if (this.#failure) throw this.#failure.error;
    if (isDone) return work;
    throw new CrashTestError(
      "invalid_option",
      `\`${option}\` does not resolve: it waits for something that never happens.`,
    );
  }

  /** Runs work that nothing waits for. Its failure ends the history. */
  #inBackground(work: () => Promise<void>): void {
    work().catch((error: unknown) => {
      this.#failure ??= { error };
    });
  }

  async #target(not?: SimulatedProcess): Promise<Target> {
    const alive = this.#targets.findLast(
      ({ process }) => process.state === "running" && process !== not,
    );
    if (alive) return alive;
    const process = this.#newProcess(letterOf(this.#targets.length));
    const { receiver: build } = this.#setting;
    const world = this.#world(process);
    const building = inside.run(this.#insideOf(process), async () => build(world));
    const receiver = await naming("receiver", building);
    if (typeof (Object(receiver) as Partial<Receiver>).receive !== "function") {
      throw new CrashTestError(
        "invalid_option",
        "`receiver` must return the receiver that it creates: ({ secret, clock, store }) => createReceiver({ secret, clock, store, on }).",
      );
    }
    process.start();
    const target = { process, receiver };
    this.#targets.push(target);
    return target;
  }

  #newProcess(letter: string): SimulatedProcess {
    const process: SimulatedProcess = new SimulatedProcess(letter, (error) =>
      this.#endProcess(process, error),
    );
    this.#processes.push(process);
    return process;
  }

  #insideOf(process: SimulatedProcess, attempt?: number): Inside {
    const { respond } = this.#setting;
    return {
      time: this.#time,
      random: this.#random,
      process,
      attempt,
      fetch: crossingFetch(this.#crossings, process, respond),
      pendingOperations: this.#pendingOperations,
      isTraced: this.#course.isTraced,
      onUnseen: (type) => {
        if (this.#isOver || (this.#course.isWarmUp && isHeldBack(type))) return;
        this.#isReal ||= isReal(type);
        const source = whereCalled()();
        const name = accessName(type);
        // Later steps of one access, such as the reads of a file, have no stack that leads to the code.
        if (source === undefined && [...this.#unseen].some((one) => one.startsWith(name))) return;
        this.#unseen.add(`${name}${source === undefined ? "" : ` at ${source}`}`);
      },
      onUncaught: (error) => this.#endProcess(process, error),
    };
  }

  #world(process: SimulatedProcess): World {
    const [crossings, server] = [this.#crossings, this.#server];
    let pool: PgPool | undefined;
    return {
      secret,
      clock: this.#clock(process),
      logger: this.#logger,
      store: crossingStore(this.#store, crossings, process, this.#onLease),
      get pool() {
        return (pool ??= createPool(server, process));
      },
      effect: (name, run, options) => crossingEffect(crossings, process, name, run, options),
    };
  }

  #clock(process?: SimulatedProcess): Clock {
    const time = this.#time;
    return {
      now: () => time.now(),
      monotonic: () => time.elapsedMs,
      after: (delayMs, run) => time.after(delayMs, run, process),
    };
  }

  /** Ends a process because of an error that nothing catches. */
  #endProcess(process: SimulatedProcess, error: unknown): void {
    if (this.#isOver || process.state === "dead") return;
    // A process that cannot start is a mistake in the test.
    if (!process.hasStarted) {
      this.#failure ??= { error: thrownBy(process.letter === "" ? "prepare" : "receiver", error) };
    }
    const text = `ends: unhandled error: ${messageOf(error)}`;
    const ms = this.#time.elapsedMs;
    this.#crossings.steps.push({ type: "process", ms, process: process.letter, text });
    this.#crash(process);
  }

  #crash(process: SimulatedProcess): void {
    process.kill();
    this.#crossings.drop(process);
    const isAnyAlive = this.#processes.some(
      ({ state }) => state === "running" || state === "frozen",
    );
    if (isAnyAlive) return;
    const executed = this.#crossings.records
      .filter(({ executedMs, isUndone }) => executedMs !== undefined && !isUndone)
      .filter(({ kind, effects }) => kind === "store" || effects.length > 0)
      .map(({ name, key, attempt }) => [name, key, attempt]);
    this.#worldAtDeath = JSON.stringify([
      executed,
      this.#sender.acknowledged,
      this.#attempts.length,
    ]);
  }

  #freeze(process: SimulatedProcess): void {
    process.freeze();
    this.#time.after(this.#twoLeasesMs(), () => {
      if (process.state !== "frozen") return;
      const ms = this.#time.elapsedMs;
      const step = { type: "process", ms, process: process.letter, text: "continues" } as const;
      this.#crossings.steps.push(step);
      process.resume();
    });
  }

  readonly #onLease = (leaseMs: number): void => {
    this.#leaseMs = Math.max(this.#leaseMs, leaseMs);
  };

  /** Returns how long a freeze or an outage lasts, and lets the history continue until after it. */
  #twoLeasesMs(): number {
    const ms = 2 * this.#leaseMs;
    this.#faultsUntilMs = Math.max(this.#faultsUntilMs, this.#time.elapsedMs + ms);
    this.#restUntilMs = Math.max(this.#restUntilMs, this.#time.elapsedMs + ms + restMs);
    return ms;
  }

  async #state(): Promise<WorldState> {
    return { tables: await this.#setting.database.read(), observed: await this.#observe() };
  }

  async #observe(): Promise<Readonly<Record<string, unknown>>> {
    const values = await Promise.all(
      Object.entries(this.#setting.observe).map(async ([name, read]) => {
        const reading = inside.run(this.#outside(), async () => inWorld(read));
        if (!(await withoutTime(reading, this.#pendingOperations))) {
          throw observeError(name, "does not resolve. It must not wait for time to pass.");
        }
        return [name, jsonOf(name, await naming(`observe.${oneLine(name)}`, reading))] as const;
      }),
    );
    return Object.fromEntries(values);
  }

  #outside(): Inside {
    return {
      time: this.#time,
      random: this.#random,
      fetch,
      pendingOperations: this.#pendingOperations,
      onUnseen: () => {},
      onUncaught: () => {},
    };
  }
}

/** Settles like the function in an option, whose name becomes part of its error. */
const naming = <Result>(option: string, running: Promise<Result>): Promise<Result> =>
  running.catch((error: unknown) => {
    throw thrownBy(option, error);
  });

/** Names processes A to Z, then A1 to Z1. */
const letterOf = (at: number): string =>
  `${String.fromCharCode(65 + (at % 26))}${at < 26 ? "" : Math.floor(at / 26)}`;

const observeError = (name: string, text: string): CrashTestError =>
  new CrashTestError("invalid_option", `\`observe.${oneLine(name)}\` ${text}`);

/** Returns a copy of an observed value. */
function jsonOf(name: string, value: unknown): unknown {
  try {
    return JSON.parse(JSON.stringify(value ?? null)) as unknown;
  } catch {
    throw observeError(
      name,
      "returns a value that JSON cannot represent. Return a list or object.",
    );
  }
}

/** Returns observed values without the entries that lists already had before the history. */
function since(
  before: Readonly<Record<string, unknown>>,
  after: Readonly<Record<string, unknown>>,
): Readonly<Record<string, unknown>> {
  const entries = Object.entries(after).map(([name, value]) => {
    const old = before[name];
    return [name, Array.isArray(value) && Array.isArray(old) ? value.slice(old.length) : value];
  });
  return Object.fromEntries(entries) as Record<string, unknown>;
}
