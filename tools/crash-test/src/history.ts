import type { Fault, FaultKind } from "./faults.js";

/**
 * A call that leaves the process: a statement, a request, an effect, or a call of the store. Times are milliseconds
 * since the start of the history.
 */
export interface Crossing {
  /** The number of the crossing in the order in which crossings were sent, from 1. */
  readonly n: number;
  /** A name for people, the same in each history: `charge`, `insert into orders`, `POST api.example.com/charges`. */
  readonly name: string;
  readonly kind: "store" | "statement" | "call";
  /** The effects that the call may have: the name of a call, or the tables that a statement writes. */
  readonly effects: readonly string[];
  /** The tables that a statement reads. */
  readonly reads: readonly string[];
  /** The idempotency key, if the call has one. */
  readonly key?: string | undefined;
  /** The place in the code under test that made the call: `src/orders.ts:23`. */
  readonly source?: string | undefined;
  /** The letter of the simulated or real process that made the call. */
  readonly process: string;
  /** The delivery on whose behalf the call was made: an index into {@link History.attempts}. */
  readonly attempt?: number | undefined;
  /** The number of the transaction in which the call ran. */
  readonly transaction?: number | undefined;
  /** When the code made the call. */
  readonly issuedMs: number;
  /** When the other side executed the call. Absent if it never did. */
  readonly executedMs?: number | undefined;
  /** When the code received the reply or the error. */
  readonly settledMs?: number | undefined;
  readonly isRejected: boolean;
  /** Whether the call is an HTTP request. Default false. */
  readonly isRequest?: boolean | undefined;
  /** Whether the fault `status` responded to the call, so that it was never executed. Default false. */
  readonly hasStatusFault?: boolean | undefined;
  /** Whether the call had no effect: the other side returned an error, or a rollback undid the call. */
  readonly isUndone: boolean;
  /** Whether the call waits for a connection that the code of the same delivery holds. Default false. */
  readonly waitsForOwn?: boolean | undefined;
  /** A fact from the reply, for the report: `run 2`, `in flight`. */
  readonly note?: string | undefined;
}

/** One delivery of an event to a process. */
export interface Attempt {
  /** The event, as an index into the events. */
  readonly event: number;
  /** The number of the attempt for its event, from 1. A copy has the number of the attempt that it copies. */
  readonly n: number;
  readonly isCopy: boolean;
  readonly process: string;
  readonly startedMs: number;
  /** When the attempt ended. Absent if the history ended first. */
  readonly endedMs?: number | undefined;
  /** The status of the response. Absent if there was none. */
  readonly status?: number | undefined;
  /** The outcome's code, if the response names it. */
  readonly code?: string | undefined;
}

/** One step in the course of a history. `ms` is the time since the start of the history, in milliseconds. */
export type Step =
  | { readonly type: "executed"; readonly ms: number; readonly crossing: number }
  | {
      readonly type: "rejected";
      readonly ms: number;
      readonly crossing: number;
      readonly error: string;
    }
  | {
      readonly type: "fault";
      readonly ms: number;
      readonly process: string;
      readonly fault: FaultKind;
      readonly crossing: number;
      readonly isAfter: boolean;
    }
  | { readonly type: "attempt"; readonly ms: number; readonly attempt: number }
  | {
      readonly type: "process";
      readonly ms: number;
      readonly process: string;
      readonly text: string;
    };

/** A call that had an effect. Calls with the same name and key count once. */
export interface Call {
  readonly name: string;
  /** The idempotency key or, for a `PUT` or `DELETE` request without a key, an identity that equal requests share. */
  readonly key?: string | undefined;
  /** The event, as an index into the events. Absent if unknown. */
  readonly event?: number | undefined;
  readonly crossing: number;
}

/** A row without the columns whose values differ between runs, such as those filled from a sequence. */
export type Row = Readonly<Record<string, unknown>>;

/** The state of the outside world. Values are JSON. */
export interface WorldState {
  readonly tables: Readonly<Record<string, readonly Row[]>>;
  readonly observed: Readonly<Record<string, unknown>>;
}

/** The course of one run with a list of faults. */
export interface History {
  readonly faults: readonly Fault[];
  readonly crossings: readonly Crossing[];
  readonly attempts: readonly Attempt[];
  readonly steps: readonly Step[];
  readonly calls: readonly Call[];
  /** The state before the first delivery. Needed only for undisturbed histories. */
  readonly start?: WorldState | undefined;
  readonly end: WorldState;
  /**
   * The state after each event was first acknowledged, in the order of the events. Only in undisturbed histories; may
   * be absent if there is one event.
   */
  readonly afterEvents?: readonly WorldState[] | undefined;
  /** Whether each event was acknowledged with a 2xx response, in the order of the events. */
  readonly acknowledged: readonly boolean[];
  /** The crossing or the transaction that never ended, although all faults were over. */
  readonly stuck?:
    | { readonly crossing?: number | undefined; readonly transaction?: number | undefined }
    | undefined;
  /** Access by the code under test that is not a crossing, such as `a socket to 127.0.0.1:5432`. */
  readonly unseen: readonly string[];
  /** Services that the command's options name, but that the code did not use. Only in undisturbed histories. */
  readonly unused?: readonly string[] | undefined;
  /** Columns that are omitted from the rows of the state, such as `orders.id`. Only in undisturbed histories. */
  readonly notCompared?: readonly string[] | undefined;
  /** Whether the code reached another program for real. Each further history would reach it again. Default false. */
  readonly isReal?: boolean | undefined;
  /** The last error that the receiver or the server reported. */
  readonly lastError?: string | undefined;
  /** The point of the first fault that did not happen, because the history did not reach it as expected. */
  readonly notReached?: number | undefined;
  /** A digest of the world when a crash last left no process alive. Histories with equal digests continue alike. */
  readonly worldAtDeath?: string | undefined;
}

/** How a further run of a history differs from the first run. */
export type Variant =
  /** The events are delivered in reverse order. */
  | "reversed"
  /** Sequences continue at other values. Where the seed and the time are simulated, they differ too. */
  | "shifted"
  /** Nothing differs, but the source lines of more calls are known. */
  | "traced";

/** Runs one history: in this process, or with real processes. */
export interface Runner {
  run(faults: readonly Fault[], variant?: Variant): Promise<History>;
}

export interface HistoryLine {
  /** The time since the start of the history, in milliseconds. */
  readonly ms: number;
  /** `sender`, or the letter of a process. */
  readonly who: string;
  readonly text: string;
  /** A remark on the line, such as `effect 2: duplicate`. */
  readonly note?: string | undefined;
  readonly fault?: FaultKind | undefined;
  /** The two ends of the line's call or reply: `sender`, a process, `store`, `database`, or the name of a service. */
  readonly from?: string | undefined;
  readonly to?: string | undefined;
  /** The effects of the crossing, if it was executed and not undone. */
  readonly effects?: readonly string[] | undefined;
  /** Whether the line's effect occurs more often than in the undisturbed history. */
  readonly isExtra?: boolean | undefined;
}

export type FindingKind =
  "duplicate" | "lost" | "partial" | "different" | "order_dependent" | "stuck";

export interface Finding {
  readonly kind: FindingKind;
  /** The effect or table: `charge`, `orders`. */
  readonly effect: string;
  /** The place in your code that made the call: `src/orders.ts:23`. Absent if unknown. */
  readonly source?: string | undefined;
  /** The faults for the option `only`: `crash@3 crash@7`. Empty if the finding occurs without a fault. */
  readonly repeat: string;
  readonly history: readonly HistoryLine[];
  readonly advice: string;
  /** Each single fault that leads to this finding, such as `crash@3`. */
  readonly cells: readonly string[];
}
