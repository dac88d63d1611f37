import { setTimeout as pause } from "node:timers/promises";
import {
  canHappen,
  placeOf,
  type Attempt,
  type Call,
  type Crossing,
  type Fault,
  type FaultKind,
  type Step,
} from "@svc-webhooks/crash-test";

/** How long an exchange is held before a SIGKILL, in milliseconds, while others pass. */
const holdMs = 500;

type Mutable<Value> = { -readonly [Name in keyof Value]: Value[Name] };

/** The facts of an exchange that its proxy knows. */
export interface ExchangeFacts extends Pick<
  Crossing,
  "name" | "kind" | "effects" | "reads" | "isRequest"
> {
  readonly key?: string | undefined;
  readonly transaction?: number | undefined;
  /** Whether the same exchange may be repeated without another effect, as `PUT` and `DELETE`: it has this identity. */
  readonly identity?: string | undefined;
}

export interface Execution {
  /** The message of an error that the other side responded with. */
  readonly error?: string | undefined;
  readonly note?: string | undefined;
}

/** An exchange on its way. */
export interface Passing {
  /** Whether the request is to be sent on. Otherwise the connection breaks, unless the request is refused. */
  readonly isSent: boolean;
  /** Whether the proxy responds with `refusal` in place of the service. Only HTTP requests are refused. */
  readonly isRefused: boolean;
  /** Marks the request as executed. Resolves to whether the reply is to be forwarded. Otherwise the connection breaks. */
  readonly executed: (execution?: Execution) => Promise<boolean>;
  /** Marks the exchange as undone by a rollback. */
  readonly undo: () => void;
  /** Ends the exchange because its connection broke. It is unknown whether it was executed. */
  readonly broken: () => void;
}

/** The actions of faults on processes. */
export interface FaultActions {
  /** Ends all processes of the server with SIGKILL. Resolves when they have exited. */
  readonly kill: (process: string) => Promise<void>;
  /** Stops the server with SIGSTOP. Resolves after another process was acknowledged and this one continues. */
  readonly freeze: (process: string) => Promise<void>;
}

/** The exchanges of one history, in order, and its other entries. */
export interface Crossings {
  readonly crossings: readonly Crossing[];
  readonly attempts: readonly Attempt[];
  readonly steps: readonly Step[];
  readonly calls: readonly Call[];
  /** Starts the clock: exchanges count from now. */
  readonly begin: () => void;
  readonly ms: () => number;
  /** Numbers an exchange, and injects the fault before it, if it has one. */
  readonly arrive: (process: string, facts: ExchangeFacts) => Promise<Passing>;
  /** Numbers a transaction that a process begins. Its calls belong to the transaction until it ends. */
  readonly beginTransaction: (process: string) => number;
  readonly endTransaction: (process: string) => void;
  /** Starts an attempt. Returns a function that ends it. */
  readonly attempt: (
    attempt: Pick<Attempt, "event" | "n" | "process">,
  ) => (result: Pick<Attempt, "status" | "code">) => void;
  readonly note: (process: string, text: string) => void;
  /** Resolves to true when no exchange has begun or ended for this long, or to false after `mostMs`. */
  readonly quiet: (ms: number, mostMs: number, signal: AbortSignal) => Promise<boolean>;
  /** The exchanges that have not ended, by number. */
  readonly pending: () => readonly number[];
  /** The first point that was not reached as in the undisturbed history. */
  readonly notReached: () => number | undefined;
}

/** The part of them that a proxy uses. */
export type Exchanges = Pick<Crossings, "arrive" | "beginTransaction" | "endTransaction">;

/** Numbers the exchanges of all proxies, and injects each fault at its point. */
class History implements Crossings {
  readonly crossings: Mutable<Crossing>[] = [];
  readonly attempts: Mutable<Attempt>[] = [];
  readonly steps: Step[] = [];
  readonly calls: Call[] = [];
  readonly #faults: readonly Fault[];
  readonly #names: readonly string[];
  readonly #actions: FaultActions;
  readonly #due: Fault[];
  readonly #pending = new Set<number>();
  #other: number | undefined;
  /** The newest open transaction of each process. */
  readonly #open = new Map<string, number>();
  #transactions = 0;
  #startedAt: number | undefined;
  #changedAt = performance.now();

  constructor(faults: readonly Fault[], names: readonly string[], actions: FaultActions) {
    this.#faults = faults;
    this.#names = names;
    this.#actions = actions;
    this.#due = [...faults];
  }

  begin(): void {
    this.#startedAt = performance.now();
    this.#changedAt = this.#startedAt;
  }

  ms(): number {
    return Math.round(performance.now() - (this.#startedAt ?? performance.now()));
  }

  beginTransaction(process: string): number {
    this.#transactions += 1;
    this.#open.set(process, this.#transactions);
    return this.#transactions;
  }

  endTransaction(process: string): void {
    this.#open.delete(process);
  }

  pending(): readonly number[] {
    return [...this.#pending];
  }

  notReached(): number | undefined {
    return this.#other ?? this.#due[0]?.point;
  }

  note(process: string, text: string): void {
    this.steps.push({ type: "process", ms: this.ms(), process, text });
  }

  attempt({ event, n, process }: Pick<Attempt, "event" | "n" | "process">) {
    const attempt: Mutable<Attempt> = { event, n, process, isCopy: false, startedMs: this.ms() };
    const at = this.attempts.push(attempt) - 1;
    return ({ status, code }: Pick<Attempt, "status" | "code">): void => {
      Object.assign(attempt, { endedMs: this.ms(), status, code });
      this.steps.push({ type: "attempt", ms: this.ms(), attempt: at });
    };
  }

  async quiet(quietMs: number, mostMs: number, signal: AbortSignal): Promise<boolean> {
    const start = performance.now();
    for (;;) {
      const now = performance.now();
      if (this.#pending.size === 0 && now - this.#changedAt >= quietMs) return true;
      if (now - start > mostMs) return false;
      await pause(20, undefined, { signal });
    }
  }

  async arrive(process: string, { identity, ...facts }: ExchangeFacts): Promise<Passing> {
    const at = this.attempts.findLastIndex((attempt) => attempt.process === process);
    // A process that has no delivery yet may poll.
    const isIdle = at === -1 && facts.effects.length === 0;
    if (this.#startedAt === undefined || isIdle) return uncounted;
    const crossing: Mutable<Crossing> = {
      ...facts,
      transaction: facts.kind === "call" ? this.#open.get(process) : facts.transaction,
      n: this.crossings.length + 1,
      process,
      attempt: at === -1 ? undefined : at,
      issuedMs: this.ms(),
      isRejected: false,
      isUndone: false,
    };
    this.crossings.push(crossing);
    this.#pending.add(crossing.n);
    this.#changedAt = performance.now();
    const isSent = await this.#inject(crossing, false);
    return {
      isSent,
      isRefused: crossing.isRefused === true,
      undo: () => void (crossing.isUndone = true),
      broken: () => void this.#reject(crossing),
      executed: (execution = {}) => this.#executed(crossing, identity, execution),
    };
  }

  async #executed(
    crossing: Mutable<Crossing>,
    identity: string | undefined,
    { error, note }: Execution,
  ): Promise<boolean> {
    const { n } = crossing;
    crossing.executedMs = this.ms();
    crossing.note = note;
    if (error === undefined) {
      this.steps.push({ type: "executed", ms: this.ms(), crossing: n });
      if (crossing.kind === "call" && crossing.effects.length > 0) this.#call(crossing, identity);
    } else this.steps.push({ type: "rejected", ms: this.ms(), crossing: n, error });
    if (!(await this.#inject(crossing, true))) return false;
    crossing.isRejected = error !== undefined;
    crossing.settledMs = error === undefined ? this.ms() : crossing.executedMs;
    this.#finish(crossing);
    return true;
  }

  #call({ name, effects, n, key, attempt }: Crossing, identity: string | undefined): void {
    const [effect = name] = effects;
    const event = attempt === undefined ? undefined : this.attempts[attempt]?.event;
    this.calls.push({ name: effect, key: key ?? identity, event, crossing: n });
  }

  /** Returns the fault at a point, unless the exchange is another one than in the undisturbed history. */
  #take(crossing: Crossing, isAfter: boolean): FaultKind | undefined {
    const { n, name } = crossing;
    const [fault] = this.#due;
    if (!fault) return undefined;
    const place = placeOf(fault.point);
    if (place.crossing !== n || place.isAfter !== isAfter) return undefined;
    this.#due.shift();
    const isFirst = this.#due.length === this.#faults.length - 1;
    const isSame = !isFirst || this.#names.length === 0 || this.#names[n - 1] === name;
    if (isSame && canHappen(fault.kind, isAfter, crossing)) return fault.kind;
    this.#other = fault.point;
    this.#due.length = 0;
    return undefined;
  }

  /** Injects the fault of a point, if it has one. Resolves to whether the request or reply continues. */
  async #inject(crossing: Mutable<Crossing>, isAfter: boolean): Promise<boolean> {
    const fault = this.#take(crossing, isAfter);
    if (fault === undefined) return true;
    const { process, n } = crossing;
    if (fault === "crash" && !isAfter) await pause(holdMs);
    this.steps.push({ type: "fault", ms: this.ms(), process, fault, crossing: n, isAfter });
    if (fault === "crash") {
      this.#finish(crossing);
      await this.#actions.kill(process);
      return false;
    }
    if (fault === "refuse") return this.#refuse(crossing);
    if (fault !== "freeze") return this.#reject(crossing);
    await this.#actions.freeze(process);
    const isBroken = crossing.kind !== "call" && crossing.transaction !== undefined && !isAfter;
    return !isBroken || this.#reject(crossing);
  }

  /** Marks a call as rejected, later than it was executed. */
  #reject(crossing: Mutable<Crossing>): false {
    crossing.isRejected = true;
    crossing.settledMs = Math.max(this.ms(), (crossing.executedMs ?? -1) + 1);
    this.#finish(crossing);
    return false;
  }

  #refuse(crossing: Mutable<Crossing>): false {
    crossing.isRefused = true;
    crossing.settledMs = this.ms();
    this.#finish(crossing);
    return false;
  }

  #finish({ n }: Crossing): void {
    this.#pending.delete(n);
    this.#changedAt = performance.now();
  }
}

/**
 * Numbers the exchanges of all proxies, and injects each fault at its point.
 *
 * @param names the names of the exchanges of the undisturbed history
 */
export const createCrossings = (
  faults: readonly Fault[],
  names: readonly string[],
  actions: FaultActions,
): Crossings => new History(faults, names, actions);

/** Crossings for a command that is not under test: its exchanges are not numbered and have no faults. */
export const uncountedCrossings = (): Crossings =>
  createCrossings([], [], { kill: () => Promise.resolve(), freeze: () => Promise.resolve() });

const uncounted: Passing = {
  isSent: true,
  isRefused: false,
  executed: () => Promise.resolve(true),
  undo: () => {},
  broken: () => {},
};
