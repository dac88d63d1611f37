import { setTimeout as pause } from "node:timers/promises";
import { Recorder, type Crossing, type Fault, type Recorded } from "@svc-webhooks/crash-test";

/** How long an exchange is held before a crash prevents it, in milliseconds. Meanwhile, other exchanges can finish. */
const holdMs = 500;

/** The facts that a proxy supplies about an exchange. */
export interface ExchangeFacts extends Pick<
  Crossing,
  "name" | "kind" | "effects" | "reads" | "isRequest"
> {
  readonly key?: string | undefined;
  readonly transaction?: number | undefined;
  /** Identifies equal exchanges that together have one effect, such as a repeated `PUT` or `DELETE`. */
  readonly identity?: string | undefined;
}

export interface Execution {
  /** The message of the error that the service returned. */
  readonly error?: string | undefined;
  readonly note?: string | undefined;
}

/** An exchange that has arrived at its proxy and is in progress. */
export interface Passing {
  /** Whether the proxy must forward the request. Otherwise, it breaks the connection or responds itself. */
  readonly isSent: boolean;
  /** Whether the proxy must respond to an HTTP request with `statusResponse`, in place of the service. */
  readonly hasStatusFault: boolean;
  /** Marks the request as executed. Resolves to true to forward the reply, or to false to break the connection. */
  readonly executed: (execution?: Execution) => Promise<boolean>;
  /** Marks the exchange as undone by a rollback. */
  readonly undo: () => void;
  /** Ends the exchange because its connection broke. Whether the request was executed is then unknown. */
  readonly broken: () => void;
}

/** The actions that faults perform on processes. */
export interface FaultActions {
  /** Ends all processes of the server with SIGKILL. Resolves when they have exited. */
  readonly kill: (process: string) => Promise<void>;
  /**
   * Stops the server with SIGSTOP. Resolves when it continues: after another server has acknowledged an event, or when
   * there are no more attempts.
   */
  readonly freeze: (process: string) => Promise<void>;
}

/** The part of `Crossings` that a proxy uses. */
export type Exchanges = Pick<Crossings, "arrive" | "beginTransaction" | "endTransaction">;

/** Numbers the exchanges of all proxies in one history, and injects each fault at its point. */
export class Crossings {
  readonly recorder: Recorder;
  readonly #names: readonly string[];
  readonly #actions: FaultActions;
  readonly #pending = new Set<number>();
  /** The newest open transaction of each process. */
  readonly #open = new Map<string, number>();
  #transactions = 0;
  #startedAt: number | undefined;
  #changedAt = performance.now();

  /** @param names the names of the exchanges in the undisturbed history, in order. Empty in that history itself */
  constructor(faults: readonly Fault[], names: readonly string[], actions: FaultActions) {
    this.recorder = new Recorder(faults, () => this.#ms());
    this.#names = names;
    this.#actions = actions;
  }

  /** Starts the clock. From now on, exchanges are numbered. */
  begin(): void {
    this.#startedAt = performance.now();
    this.#changedAt = this.#startedAt;
  }

  #ms(): number {
    return Math.round(performance.now() - (this.#startedAt ?? performance.now()));
  }

  /** Returns the number of a new transaction. Until it ends, the process's calls belong to it. */
  beginTransaction(process: string): number {
    this.#transactions += 1;
    this.#open.set(process, this.#transactions);
    return this.#transactions;
  }

  endTransaction(process: string): void {
    this.#open.delete(process);
  }

  /** Returns the numbers of the exchanges that have not ended. */
  pending(): readonly number[] {
    return [...this.#pending];
  }

  /** Resolves to true when no exchange is pending, and none has changed for `quietMs`, or to false after `mostMs`. */
  async quiet(quietMs: number, mostMs: number, signal: AbortSignal): Promise<boolean> {
    const start = performance.now();
    for (;;) {
      const now = performance.now();
      if (this.#pending.size === 0 && now - this.#changedAt >= quietMs) return true;
      if (now - start > mostMs) return false;
      await pause(20, undefined, { signal });
    }
  }

  /** Numbers an exchange, and injects the fault at the point before the exchange, if there is such a fault. */
  async arrive(process: string, { identity, ...facts }: ExchangeFacts): Promise<Passing> {
    const index = this.recorder.attempts.findLastIndex((attempt) => attempt.process === process);
    // A process that has had no delivery so far may be polling, so its exchanges without effects are not numbered.
    const isIdle = index === -1 && facts.effects.length === 0;
    if (this.#startedAt === undefined || isIdle) return uncounted;
    const crossing = this.recorder.add({
      ...facts,
      transaction: facts.kind === "call" ? this.#open.get(process) : facts.transaction,
      process,
      attempt: index === -1 ? undefined : index,
      issuedMs: this.#ms(),
    });
    this.#pending.add(crossing.n);
    this.#changedAt = performance.now();
    const isSent = await this.#inject(crossing, false);
    return {
      isSent,
      hasStatusFault: crossing.hasStatusFault === true,
      undo: () => void (crossing.isUndone = true),
      broken: () => void this.#reject(crossing),
      executed: (execution = {}) => this.#executed(crossing, identity, execution),
    };
  }

  async #executed(
    crossing: Recorded,
    identity: string | undefined,
    { error, note }: Execution,
  ): Promise<boolean> {
    crossing.executedMs = this.#ms();
    crossing.note = note;
    if (error === undefined) {
      this.recorder.executed(crossing);
      this.recorder.count(crossing, identity);
    } else {
      this.recorder.rejected(crossing, error);
      crossing.isUndone = true;
    }
    if (!(await this.#inject(crossing, true))) return false;
    crossing.isRejected = error !== undefined;
    crossing.settledMs = error === undefined ? this.#ms() : crossing.executedMs;
    this.#finish(crossing);
    return true;
  }

  /**
   * Injects the fault before or after an exchange, if there is such a fault. Resolves to whether to forward the
   * message.
   */
  async #inject(crossing: Recorded, isAfter: boolean): Promise<boolean> {
    const fault = this.recorder.faultAt(crossing, isAfter);
    // Injects no fault if the exchange with this number had another name in the undisturbed history.
    const name = this.#names[crossing.n - 1];
    if (!fault || (this.#names.length > 0 && name !== crossing.name)) return true;
    const { process } = crossing;
    if (fault.kind === "crash" && !isAfter) await pause(holdMs);
    this.recorder.strike(fault);
    if (fault.kind === "crash") {
      this.#finish(crossing);
      await this.#actions.kill(process);
      return false;
    }
    if (fault.kind === "status") return this.#respond(crossing);
    if (fault.kind !== "freeze") return this.#reject(crossing);
    await this.#actions.freeze(process);
    const isBroken = crossing.kind !== "call" && crossing.transaction !== undefined && !isAfter;
    return !isBroken || this.#reject(crossing);
  }

  /** Ends an exchange as rejected. If it was executed, the recorded end is later than the execution. */
  #reject(crossing: Recorded): false {
    crossing.isRejected = true;
    crossing.settledMs = Math.max(this.#ms(), (crossing.executedMs ?? -1) + 1);
    this.#finish(crossing);
    return false;
  }

  #respond(crossing: Recorded): false {
    crossing.hasStatusFault = true;
    crossing.settledMs = this.#ms();
    this.#finish(crossing);
    return false;
  }

  #finish({ n }: Crossing): void {
    this.#pending.delete(n);
    this.#changedAt = performance.now();
  }
}

/** Returns `Crossings` for a command that is not under test: its exchanges are not numbered and have no faults. */
export const uncountedCrossings = (): Crossings =>
  new Crossings([], [], { kill: () => Promise.resolve(), freeze: () => Promise.resolve() });

const uncounted: Passing = {
  isSent: true,
  hasStatusFault: false,
  executed: () => Promise.resolve(true),
  undo: () => {},
  broken: () => {},
};
