import type { Crossing, Fault, Recorded, Recorder } from "@svc-webhooks/crash-test";
import { captureContext } from "./context.js";
import { inside } from "./inside.js";
import { messageOf } from "./message.js";
import type { SimulatedProcess } from "./process.js";
import type { VirtualTime } from "./time.js";

/** A call that is about to leave a simulated process. */
export interface Leaving<Result> {
  readonly name: string;
  readonly kind: Crossing["kind"];
  readonly effects: readonly string[];
  readonly reads: readonly string[];
  readonly key?: string | undefined;
  readonly transaction?: (() => number | undefined) | undefined;
  /** Returns the place in the code that made the call, such as `src/orders.ts:23`. */
  readonly source?: (() => string | undefined) | undefined;
  /** The attempt on whose behalf the code makes the call. Default: the attempt of the current context. */
  readonly attempt?: number | undefined;
  /** Executes the call in the outside world. `recorded` is undefined while the process starts. */
  readonly execute: (
    recorded: Recorded | undefined,
  ) => Executed<Result> | Promise<Executed<Result>>;
  /** Returns whether the call can be sent now. If not, the call waits in the queue. Default: it can always be sent. */
  readonly isReady?: (() => boolean) | undefined;
  /** Returns whether the call waits for a connection that the code of its own delivery holds. */
  readonly waitsForOwn?: (() => boolean) | undefined;
  /** Creates the error of a lost connection, with which `fail`, `response_lost` and `outage` reject the call. */
  readonly broken: () => unknown;
  /** Creates the response of the fault `status`. Undefined unless the call is an HTTP request. */
  readonly statusResponse?: (() => Result) | undefined;
}

export interface Executed<Result> {
  /** The reply, or the error that the other side returns. */
  readonly reply: { readonly value: Result } | { readonly error: unknown };
  /** The error's text for the report, if the error is part of `reply.value` or its own message does not suffice. */
  readonly refusal?: string | undefined;
  /** Identifies a call whose repetition changes nothing, such as a `PUT`. Calls with the same identity count once. */
  readonly identity?: string | undefined;
  readonly note?: string | undefined;
}

interface Waiting {
  readonly leaving: Leaving<unknown>;
  readonly execute: (recorded: Recorded | undefined) => Promise<Executed<unknown>>;
  readonly owner: SimulatedProcess;
  readonly attempt: number | undefined;
  readonly issuedMs: number;
  readonly settle: (reply: Executed<unknown>["reply"]) => void;
  /** The record of the call. Undefined until the call is first due, and for calls of a process that is starting. */
  recorded: Recorded | undefined;
  /** Whether a fault holds the call back. */
  isHeld: boolean;
}

/** The functions of the simulation that the crossings need to inject faults. */
export interface FaultHost {
  /** Sends a copy of the attempt's delivery to a process other than `from`. */
  readonly duplicate: (attempt: number | undefined, from: SimulatedProcess) => void;
  readonly crash: (owner: SimulatedProcess) => void;
  readonly freeze: (owner: SimulatedProcess) => void;
  /** Returns the number of the open transaction that an attempt has begun. */
  readonly transactionOf: (
    owner: SimulatedProcess,
    attempt: number | undefined,
  ) => number | undefined;
  /** Returns how long `outage` and `freeze` last: two leases, in milliseconds. */
  readonly twoLeasesMs: () => number;
}

/** How long a call is held before its process crashes, in milliseconds. */
const stallMs = 500;
/** The delay of the fault `slow`, in milliseconds. */
const slowMs = 1_000;

/** Sends and records the crossings of one history in order, and injects the faults at their points. */
export class Crossings {
  /** The number of crossings that the outside world is executing. */
  executing = 0;
  #waiting: Waiting[] = [];
  #outageUntilMs = -1;
  readonly #recorder: Recorder;
  readonly #time: VirtualTime;
  readonly #host: FaultHost;

  constructor(recorder: Recorder, time: VirtualTime, host: FaultHost) {
    this.#recorder = recorder;
    this.#time = time;
    this.#host = host;
  }

  /** Queues a call. The promise settles with the reply, or never if the process is dead by then. */
  cross<Result>(owner: SimulatedProcess, leaving: Leaving<Result>): Promise<Result> {
    this.#time.activity += 1;
    const inContext = captureContext();
    return new Promise((resolve, reject) => {
      if (owner.state === "dead") return;
      this.#waiting.push({
        leaving,
        // Restores the caller's context, because the scheduler sends the call from outside of the history.
        execute: (recorded) => inContext(async () => leaving.execute(recorded)),
        owner,
        attempt: leaving.attempt ?? inside.getStore()?.attempt,
        issuedMs: this.#time.elapsedMs,
        settle: (reply) => {
          if ("error" in reply) reject(reply.error);
          else resolve(reply.value as Result);
        },
        recorded: undefined,
        isHeld: false,
      });
    });
  }

  /** Removes the unsent calls of a dead process. */
  drop(owner: SimulatedProcess): void {
    this.#waiting = this.#waiting.filter((call) => call.owner !== owner);
  }

  /** Records the calls that still wait for their turn when the history ends. Returns the first record, if any. */
  recordBlocked(): Recorded | undefined {
    const blocked = this.#waiting.filter(({ isHeld, owner }) => !isHeld && owner.state !== "dead");
    return blocked.map((call) => call.recorded ?? this.#record(call))[0];
  }

  /** Sends the first call that can be sent. Returns false if there is no such call. */
  sendNext(): boolean {
    const next = this.#waiting.find(
      ({ leaving, isHeld, owner }) =>
        !isHeld && owner.state !== "frozen" && leaving.isReady?.() !== false,
    );
    if (!next) return false;
    this.#time.activity += 1;
    if (next.owner.hasStarted) this.#passFirstPoint(next);
    else this.#execute(next);
    return true;
  }

  #passFirstPoint(call: Waiting): void {
    if (call.recorded) {
      this.#execute(call);
      return;
    }
    if (this.#isOut(call)) {
      // Does not record the call, because it never arrives, and because each recorded call adds points for faults.
      this.#break(call);
      return;
    }
    const recorded = this.#record(call);
    const fault = this.#recorder.faultAt(recorded, false);
    if (fault) this.#strikeBefore(fault, call, recorded);
    else this.#execute(call);
  }

  #record(call: Waiting): Recorded {
    const { leaving, owner } = call;
    const recorded = this.#recorder.add({
      name: leaving.name,
      kind: leaving.kind,
      effects: leaving.effects,
      reads: leaving.reads,
      key: leaving.key,
      get source() {
        return leaving.source?.();
      },
      process: owner.letter,
      attempt: call.attempt,
      transaction: (leaving.transaction ?? (() => this.#host.transactionOf(owner, call.attempt)))(),
      issuedMs: call.issuedMs,
      isRequest: leaving.statusResponse !== undefined,
      waitsForOwn: leaving.waitsForOwn?.(),
    });
    call.recorded = recorded;
    return recorded;
  }

  #strikeBefore(fault: Fault, call: Waiting, recorded: Recorded): void {
    const { owner, leaving } = call;
    if (fault.kind === "crash") {
      call.isHeld = true;
      this.#time.after(stallMs, () => {
        if (owner.state === "dead") return;
        this.#recorder.strike(fault);
        this.#host.crash(owner);
      });
      return;
    }
    this.#recorder.strike(fault);
    switch (fault.kind) {
      case "fail":
        this.#break(call);
        return;
      case "status":
        this.#remove(call);
        recorded.hasStatusFault = true;
        this.#settle(call, { value: leaving.statusResponse?.() });
        return;
      case "slow":
        call.isHeld = true;
        this.#time.after(slowMs, () => {
          call.isHeld = false;
        });
        return;
      case "freeze":
        this.#host.freeze(owner);
        return;
      case "duplicate":
        this.#host.duplicate(call.attempt, owner);
        break;
      case "outage":
        this.#outageUntilMs = this.#time.elapsedMs + this.#host.twoLeasesMs();
        break;
      case "response_lost":
        break;
    }
    this.#execute(call);
  }

  /** Executes a call in the outside world, and settles it with the reply. In an outage, rejects calls to the store. */
  #execute(call: Waiting): void {
    if (call.recorded && this.#isOut(call)) {
      this.#break(call);
      return;
    }
    this.#remove(call);
    this.executing += 1;
    call.execute(call.recorded).then(
      (result) => this.#onExecuted(call, result),
      (error: unknown) => this.#onExecuted(call, { reply: { error } }),
    );
  }

  #isOut({ leaving }: Waiting): boolean {
    return leaving.kind === "store" && this.#time.elapsedMs < this.#outageUntilMs;
  }

  #onExecuted(call: Waiting, { reply, identity, note, refusal }: Executed<unknown>): void {
    this.executing -= 1;
    this.#time.activity += 1;
    const { owner, recorded } = call;
    if (!recorded) {
      this.#settle(call, reply);
      return;
    }
    recorded.executedMs = this.#time.elapsedMs;
    recorded.note = note;
    this.#recorder.executed(recorded);
    const error = refusal ?? ("error" in reply ? messageOf(reply.error) : undefined);
    if (error !== undefined) {
      this.#recorder.rejected(recorded, error);
      recorded.isRejected = true;
      recorded.isUndone = true;
    } else this.#recorder.count(recorded, identity);
    const fault = this.#recorder.faultAt(recorded, true);
    if (fault && owner.state !== "dead") {
      this.#recorder.strike(fault);
      if (fault.kind === "crash") this.#host.crash(owner);
      if (fault.kind === "freeze") this.#host.freeze(owner);
      if (fault.kind === "response_lost") {
        this.#break(call);
        return;
      }
    }
    this.#settle(call, reply);
  }

  /** Rejects a call with the error of a lost connection. */
  #break(call: Waiting): void {
    this.#remove(call);
    if (call.recorded) call.recorded.isRejected = true;
    this.#settle(call, { error: call.leaving.broken() });
  }

  #settle({ owner, recorded, settle }: Waiting, reply: Executed<unknown>["reply"]): void {
    owner.deliver(() => {
      this.#time.activity += 1;
      if (recorded) recorded.settledMs = this.#time.elapsedMs;
      settle(reply);
    });
  }

  #remove(call: Waiting): void {
    this.#waiting = this.#waiting.filter((other) => other !== call);
  }
}
