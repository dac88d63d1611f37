import { canHappen, placeOf, type Fault } from "./faults.js";
import type { Attempt, Call, Crossing, History, Step } from "./history.js";

export type Mutable<Item> = { -readonly [Name in keyof Item]: Item[Name] };

/** A crossing as it is recorded while the history runs. */
export type Recorded = Mutable<Crossing>;

/** Records one history as it runs, and returns the faults that are due. `crashTest` and the command both use it. */
export class Recorder {
  readonly crossings: Recorded[] = [];
  readonly attempts: Mutable<Attempt>[] = [];
  readonly steps: Step[] = [];
  readonly calls: Call[] = [];
  readonly #faults: readonly Fault[];
  readonly #struck = new Set<number>();
  readonly #elapsedMs: () => number;

  /** @param elapsedMs returns the milliseconds since the start of the history */
  constructor(faults: readonly Fault[], elapsedMs: () => number) {
    this.#faults = faults;
    this.#elapsedMs = elapsedMs;
  }

  /** The point of the first fault that has not happened; undefined if all have. */
  get notReached(): number | undefined {
    return this.#faults.find(({ point }) => !this.#struck.has(point))?.point;
  }

  /** The recorded parts of the history. */
  get recorded(): Pick<
    History,
    "faults" | "crossings" | "attempts" | "steps" | "calls" | "notReached"
  > {
    const { crossings, attempts, steps, calls, notReached } = this;
    return { faults: this.#faults, crossings, attempts, steps, calls, notReached };
  }

  /** Numbers and records a crossing that is about to be sent. */
  add(crossing: Omit<Crossing, "n" | "isRejected" | "isUndone">): Recorded {
    const numbers = { n: this.crossings.length + 1, isRejected: false, isUndone: false };
    // Adds the numbers to the crossing itself: a copy would call its getter `source`, which reads a stack that only a
    // report needs.
    const recorded: Recorded = Object.assign(crossing, numbers);
    this.crossings.push(recorded);
    return recorded;
  }

  /** Returns the fault at a point of a crossing, if there is one and it can happen there. */
  faultAt(crossing: Crossing, isAfter: boolean): Fault | undefined {
    const due = 2 * crossing.n - (isAfter ? 0 : 1);
    return this.#faults.find(
      ({ kind, point }) => point === due && canHappen(kind, isAfter, crossing),
    );
  }

  /** Records that a fault happens. */
  strike({ kind, point }: Fault): void {
    const { crossing, isAfter } = placeOf(point);
    const process = this.crossings[crossing - 1]?.process ?? "";
    this.#struck.add(point);
    this.steps.push({
      type: "fault",
      ms: this.#elapsedMs(),
      process,
      fault: kind,
      crossing,
      isAfter,
    });
  }

  /** Records that the other side executed a crossing. */
  executed({ n }: Recorded): void {
    this.steps.push({ type: "executed", ms: this.#elapsedMs(), crossing: n });
  }

  /** Records the error that the other side returned. */
  rejected({ n }: Recorded, error: string): void {
    this.steps.push({ type: "rejected", ms: this.#elapsedMs(), crossing: n, error });
  }

  /**
   * Records the effects of a crossing if it is a call.
   *
   * @param identity identifies a call that may be repeated without another effect. Unused if the call has a key
   */
  count({ kind, effects, key, attempt, n }: Recorded, identity: string | undefined): void {
    if (kind !== "call") return;
    const event = attempt === undefined ? undefined : this.attempts[attempt]?.event;
    for (const name of effects) {
      this.calls.push({ name, key: key ?? identity, event, crossing: n });
    }
  }

  /** Starts an attempt. Returns its index, and a function that ends it. */
  attempt(attempt: Omit<Attempt, "startedMs" | "endedMs" | "status" | "code">): {
    readonly index: number;
    readonly end: (result: Pick<Attempt, "status" | "code">) => void;
  } {
    const started: Mutable<Attempt> = { ...attempt, startedMs: this.#elapsedMs() };
    const index = this.attempts.push(started) - 1;
    return {
      index,
      end: ({ status, code }) => {
        const ms = this.#elapsedMs();
        Object.assign(started, { endedMs: ms, status, code });
        this.steps.push({ type: "attempt", ms, attempt: index });
      },
    };
  }

  /** Records a remark on a process. */
  note(process: string, text: string): void {
    this.steps.push({ type: "process", ms: this.#elapsedMs(), process, text });
  }
}
