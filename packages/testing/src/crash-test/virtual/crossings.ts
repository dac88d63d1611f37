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
  /** Returns where the code made the call. */
  readonly source?: (() => string | undefined) | undefined;
  /** The delivery on whose behalf it is made, if not that of the current context. */
  readonly attempt?: number | undefined;
  /** Executes it in the outside world. It has no record while its process starts. */
  readonly execute: (
    recorded: Recorded | undefined,
  ) => Executed<Result> | Promise<Executed<Result>>;
  /** Returns whether it can be sent now; otherwise it waits behind others. */
  readonly isReady?: (() => boolean) | undefined;
  /** Returns whether it waits for a connection that its own delivery holds. */
  readonly waitsForOwn?: (() => boolean) | undefined;
  /** Creates the error with which `fail` and `lost_reply` reject it. */
  readonly broken: () => unknown;
  /** Creates the response with which `refuse` refuses it. Only HTTP requests have one. */
  readonly refused?: (() => Result) | undefined;
}

export interface Executed<Result> {
  /** The reply, or the error that the other side returns. */
  readonly reply: { readonly value: Result } | { readonly error: unknown };
  /** The text of the error, if it is part of the value, or other than that of the error. */
  readonly refusal?: string | undefined;
  /** The identity of a call that may be repeated without another effect, such as `PUT` or `DELETE`. All such calls count once. */
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
  /** Set once it has a number: its first point has passed. */
  recorded: Recorded | undefined;
  /** Set while a fault holds it. */
  isHeld: boolean;
}

/** How the outside of the crossings reacts to faults. */
export interface FaultHost {
  /** Delivers a copy of the delivery to another process. */
  readonly copy: (attempt: number | undefined, from: SimulatedProcess) => void;
  readonly crash: (owner: SimulatedProcess) => void;
  readonly freeze: (owner: SimulatedProcess) => void;
  /** Returns the number of the transaction that a delivery has open. */
  readonly transactionOf: (
    owner: SimulatedProcess,
    attempt: number | undefined,
  ) => number | undefined;
  /** How long `outage` and `freeze` last: two leases, in milliseconds. */
  readonly twoLeasesMs: () => number;
}

/** How long a crossing is held before the crash of its process, and how much later a slow one is executed. */
const stallMs = 500;
const slowMs = 1_000;

/** The crossings of one history, in the order in which they are sent, and the faults at their points. */
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

  /** Queues a call. The promise settles with the reply, unless the process is dead by then. */
  cross<Result>(owner: SimulatedProcess, leaving: Leaving<Result>): Promise<Result> {
    this.#time.activity += 1;
    const inContext = captureContext();
    return new Promise((resolve, reject) => {
      if (owner.state === "dead") return;
      this.#waiting.push({
        leaving,
        // The scheduler, which sends it, is outside of the history.
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

  /** Removes the calls of a dead process that were not sent. */
  drop(owner: SimulatedProcess): void {
    this.#waiting = this.#waiting.filter((one) => one.owner !== owner);
  }

  /** Records the calls that still wait when the history ends, and returns the first. */
  recordBlocked(): Recorded | undefined {
    const blocked = this.#waiting.filter(({ isHeld, owner }) => !isHeld && owner.state !== "dead");
    return blocked.map((one) => one.recorded ?? this.#record(one))[0];
  }

  /** Sends the first call that can be sent. Returns false if there is none. */
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

  #passFirstPoint(one: Waiting): void {
    if (one.recorded) {
      this.#execute(one);
      return;
    }
    if (this.#isOut(one)) {
      // It never arrives, so it is not a place of its own: an outage would have a hundred of them.
      this.#break(one);
      return;
    }
    const recorded = this.#record(one);
    const fault = this.#recorder.faultAt(recorded, false);
    if (fault) this.#strikeBefore(fault, one, recorded);
    else this.#execute(one);
  }

  #record(one: Waiting): Recorded {
    const { leaving, owner } = one;
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
      attempt: one.attempt,
      transaction: (leaving.transaction ?? (() => this.#host.transactionOf(owner, one.attempt)))(),
      issuedMs: one.issuedMs,
      isRequest: leaving.refused !== undefined,
      waitsForOwn: leaving.waitsForOwn?.(),
    });
    one.recorded = recorded;
    return recorded;
  }

  #strikeBefore(fault: Fault, one: Waiting, recorded: Recorded): void {
    const { owner, leaving } = one;
    if (fault.kind === "crash") {
      one.isHeld = true;
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
        this.#break(one);
        return;
      case "refuse":
        this.#remove(one);
        recorded.isRefused = true;
        this.#settle(one, { value: leaving.refused?.() });
        return;
      case "slow":
        one.isHeld = true;
        this.#time.after(slowMs, () => {
          one.isHeld = false;
        });
        return;
      case "freeze":
        this.#host.freeze(owner);
        return;
      case "copy":
        this.#host.copy(one.attempt, owner);
        break;
      case "outage":
        this.#outageUntilMs = this.#time.elapsedMs + this.#host.twoLeasesMs();
        break;
      case "lost_reply":
        break;
    }
    this.#execute(one);
  }

  /** Executes a call in the outside world, and settles it when it has replied. */
  #execute(one: Waiting): void {
    if (one.recorded && this.#isOut(one)) {
      this.#break(one);
      return;
    }
    this.#remove(one);
    this.executing += 1;
    one.execute(one.recorded).then(
      (result) => this.#onExecuted(one, result),
      (error: unknown) => this.#onExecuted(one, { reply: { error } }),
    );
  }

  #isOut({ leaving }: Waiting): boolean {
    return leaving.kind === "store" && this.#time.elapsedMs < this.#outageUntilMs;
  }

  #onExecuted(one: Waiting, { reply, identity, note, refusal }: Executed<unknown>): void {
    this.executing -= 1;
    this.#time.activity += 1;
    const { owner, recorded } = one;
    if (!recorded) {
      this.#settle(one, reply);
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
      if (fault.kind === "lost_reply") {
        this.#break(one);
        return;
      }
    }
    this.#settle(one, reply);
  }

  /** Rejects a call as a lost connection does. */
  #break(one: Waiting): void {
    this.#remove(one);
    if (one.recorded) one.recorded.isRejected = true;
    this.#settle(one, { error: one.leaving.broken() });
  }

  #settle({ owner, recorded, settle }: Waiting, reply: Executed<unknown>["reply"]): void {
    owner.deliver(() => {
      this.#time.activity += 1;
      if (recorded) recorded.settledMs = this.#time.elapsedMs;
      settle(reply);
    });
  }

  #remove(one: Waiting): void {
    this.#waiting = this.#waiting.filter((other) => other !== one);
  }
}
