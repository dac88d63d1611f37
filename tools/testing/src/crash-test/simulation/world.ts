import { memoryStore, type Clock, type DeliveryStore, type Logger } from "@svc-webhooks/core";
import { randomOf, Recorder, type Fault } from "@svc-webhooks/crash-test";
import { accessName, isHeldBack, isReal } from "../globals/access.js";
import type { Database } from "../postgres/engine.js";
import { createPool, type PgPool } from "../postgres/pool.js";
import { Server } from "../postgres/server.js";
import { crossingEffect } from "../surface/effect.js";
import { crossingFetch, type Respond } from "../surface/fetch.js";
import { whereCalled } from "../surface/source.js";
import { crossingStore } from "../surface/store.js";
import { Crossings, type FaultHost } from "../virtual/crossings.js";
import type { Inside } from "../virtual/inside.js";
import { oneLine } from "../virtual/message.js";
import type { SimulatedProcess } from "../virtual/process.js";
import { VirtualTime } from "../virtual/time.js";
import type { World } from "../world.js";
import type { Subject } from "./subject.js";

/** The lease that is assumed until a claim requests a longer one, in milliseconds. */
const defaultLeaseMs = 30_000;
/** The key with which the simulated sender signs. */
export const secret = "whsec_crash_test";

/** The code under test, and the world around it. */
export interface Setting {
  readonly events: readonly unknown[];
  readonly subject: Subject;
  readonly respond: Respond;
  readonly observe: Readonly<Record<string, () => unknown>>;
  readonly database: Database;
}

/** The properties in which histories differ. */
export interface Course {
  readonly faults: readonly Fault[];
  /** The indices of the events, in the order of their first deliveries. */
  readonly order: readonly number[];
  readonly seed: number;
  readonly startMs: number;
  /** Whether this is the first history. It loads modules, so its access to files is ignored. */
  readonly isWarmUp: boolean;
  /** Whether to record where promises are created, so that more calls can be traced to a source line. */
  readonly isTraced: boolean;
}

export interface WorldHost extends Pick<FaultHost, "duplicate" | "crash" | "freeze"> {
  /** Ends a process because of an uncaught error. */
  readonly end: (process: SimulatedProcess, error: unknown) => void;
  /** Ends the history with an error. */
  readonly fail: (error: unknown) => void;
  /** Called when a crash, a freeze or an outage begins. The fault is over at `untilMs`, in elapsed milliseconds. */
  readonly onFault: (untilMs: number) => void;
}

/** The outside world of one history, which outlives its processes: time, the store, PostgreSQL, other services. */
export class SimulatedWorld {
  readonly time: VirtualTime;
  readonly recorder: Recorder;
  readonly crossings: Crossings;
  readonly server: Server;
  /** The async ids of the platform's operations, such as file reads, that have not ended. */
  readonly pendingOperations: Set<number> = new Set();
  /** Descriptions of access that is not a crossing: its kind and, if known, its place in the code. */
  readonly unseen: Set<string> = new Set();
  /** Whether any access that is not a crossing reached another program. */
  isReal: boolean = false;
  /** Whether the history has ended, so that the rest of its code no longer matters. */
  isOver: boolean = false;
  /** The last error that a receiver logged. Without faults, it explains why an event was not acknowledged. */
  lastError: string | undefined;
  #leaseMs = defaultLeaseMs;
  readonly #setting: Setting;
  readonly #course: Course;
  readonly #host: WorldHost;
  readonly #random: () => number;
  readonly #store: DeliveryStore;
  readonly #logger: Logger = {
    info() {},
    warn() {},
    error: (line) => {
      // Keeps the message and the first frame of the stack, which is the second line.
      const [text = "", frame = ""] = line.split("\n");
      this.lastError = oneLine(`${text.slice(0, 300)} ${frame.trim()}`.trim());
    },
  };

  constructor(setting: Setting, course: Course, host: WorldHost) {
    this.#setting = setting;
    this.#course = course;
    this.#host = host;
    this.time = new VirtualTime(course.startMs);
    this.#random = randomOf(course.seed);
    const { duplicate, crash, freeze, fail } = host;
    this.recorder = new Recorder(course.faults, () => this.time.elapsedMs);
    this.crossings = new Crossings(this.recorder, this.time, {
      duplicate,
      crash,
      freeze,
      transactionOf: (process, attempt) => this.server.transactionOf(process, attempt),
      twoLeasesMs: () => this.twoLeasesMs(),
    });
    const { exchange } = setting.database;
    this.server = new Server(this.crossings, this.time, exchange, this.#onLease, fail);
    this.#store = memoryStore({ clock: this.#clock() });
  }

  /**
   * Returns how long a freeze or an outage lasts, in milliseconds, and lets the history continue for that time. Also
   * called at a crash, so that the history continues long enough for the leases of the dead process to end.
   */
  twoLeasesMs(): number {
    const ms = 2 * this.#leaseMs;
    this.#host.onFault(this.time.elapsedMs + ms);
    return ms;
  }

  /** Returns the world as the code of a process sees it. */
  worldOf(process: SimulatedProcess): World {
    const { crossings, server } = this;
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

  /** Returns the context in which the code of a process runs. */
  insideOf(process: SimulatedProcess, attempt?: number): Inside {
    return {
      ...this.outside(),
      process,
      attempt,
      fetch: crossingFetch(this.crossings, process, this.#setting.respond),
      isTraced: this.#course.isTraced,
      onUnseen: (type) => this.#noteUnseen(type),
      onUncaught: (error) => this.#host.end(process, error),
    };
  }

  /** Returns the context in which code of the outside world runs. */
  outside(): Inside {
    return {
      time: this.time,
      random: this.#random,
      fetch,
      pendingOperations: this.pendingOperations,
      onUnseen: () => {},
      onUncaught: () => {},
    };
  }

  #noteUnseen(type: string): void {
    if (this.isOver || (this.#course.isWarmUp && isHeldBack(type))) return;
    this.isReal ||= isReal(type);
    const source = whereCalled()();
    const name = accessName(type);
    // Ignores later steps of a known access, such as reads of an open file: their stacks do not lead to the code.
    if (source === undefined && [...this.unseen].some((access) => access.startsWith(name))) return;
    this.unseen.add(`${name}${source === undefined ? "" : ` at ${source}`}`);
  }

  #clock(process?: SimulatedProcess): Clock {
    const { time } = this;
    return {
      now: () => time.now(),
      monotonic: () => time.elapsedMs,
      after: (delayMs, run) => time.after(delayMs, run, process),
    };
  }

  readonly #onLease = (leaseMs: number): void => {
    this.#leaseMs = Math.max(this.#leaseMs, leaseMs);
  };
}
