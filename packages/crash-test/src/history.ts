import type { Fault, FaultKind } from "./faults.js";

/**
 * A call that leaves the process: a statement, a request, an effect, a call of the store. Times are milliseconds since
 * the first delivery.
 */
export interface Crossing {
  /** 1 for the first crossing of the history, in the order in which they were sent. */
  readonly n: number;
  /** For people, and the same in each history: `charge`, `insert into orders`, `POST api.example.com/charges`. */
  readonly name: string;
  readonly kind: "store" | "statement" | "call";
  /** The effect that it may have: the name of a call, or the tables that a statement writes. */
  readonly effects: readonly string[];
  /** The tables that it reads. */
  readonly reads: readonly string[];
  /** The idempotency key, if it has one. */
  readonly key?: string | undefined;
  /** The place in the code under test that made the call: `src/orders.ts:23`. */
  readonly source?: string | undefined;
  /** A letter: the simulated or real process. */
  readonly process: string;
  /** The delivery on whose behalf it was made: an index into {@link History.attempts}. */
  readonly attempt?: number | undefined;
  /** The number of the transaction in which it ran. */
  readonly transaction?: number | undefined;
  /** When the code made the call. */
  readonly issuedMs: number;
  /** Absent if it was never executed. */
  readonly executedMs?: number | undefined;
  /** When the code received the reply or the error. */
  readonly settledMs?: number | undefined;
  readonly isRejected: boolean;
  /** Whether it is an HTTP request. Default false. */
  readonly isRequest?: boolean | undefined;
  /** Whether the fault `refuse` responded to it, so that it was never executed. Default false. */
  readonly isRefused?: boolean | undefined;
  /** Whether it had no effect: the other side returned an error, or a rollback undid it. */
  readonly isUndone: boolean;
  /** Whether it waits for a connection that the code of the same delivery holds. */
  readonly waitsForOwn?: boolean | undefined;
  /** A fact of the reply for people: `run 2`, `in flight`. */
  readonly note?: string | undefined;
}

/** One delivery of an event to a process. */
export interface Attempt {
  /** An index into the events. */
  readonly event: number;
  /** The sender's count. A copy has the number of the delivery that it copies. */
  readonly n: number;
  readonly isCopy: boolean;
  readonly process: string;
  readonly startedMs: number;
  /** Absent if the history ended first. */
  readonly endedMs?: number | undefined;
  /** Absent if there was no response. */
  readonly status?: number | undefined;
  /** The outcome's code, if the response names it. */
  readonly code?: string | undefined;
}

/** An entry of a history, in order. */
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

/** A call that had an effect. The same key counts once. */
export interface Call {
  readonly name: string;
  /** The idempotency key, or the identity of a request that may be repeated: `PUT` and `DELETE`. */
  readonly key?: string | undefined;
  /** An index into the events. Absent if unknown. */
  readonly event?: number | undefined;
  readonly crossing: number;
}

/** A row without the columns that differ by nature, such as those filled from a sequence. */
export type Row = Readonly<Record<string, unknown>>;

/** The state of the outside world. Values are JSON. */
export interface WorldState {
  readonly tables: Readonly<Record<string, readonly Row[]>>;
  readonly observed: Readonly<Record<string, unknown>>;
}

/** The course of events with one list of faults. */
export interface History {
  readonly faults: readonly Fault[];
  readonly crossings: readonly Crossing[];
  readonly attempts: readonly Attempt[];
  readonly steps: readonly Step[];
  readonly calls: readonly Call[];
  /** The state before the first delivery. Needed only of undisturbed histories. */
  readonly start?: WorldState | undefined;
  readonly end: WorldState;
  /** The state after the first acknowledgement of each event, in their order. Only of undisturbed histories. */
  readonly afterEvents?: readonly WorldState[] | undefined;
  /** Events that were acknowledged: a response of 2xx. */
  readonly acknowledged: readonly boolean[];
  /** The crossing that never ended although all faults were over, or a transaction that never ended. */
  readonly stuck?:
    | { readonly crossing?: number | undefined; readonly transaction?: number | undefined }
    | undefined;
  /** Access of the code under test that was no crossing, such as `a socket to 127.0.0.1:5432`. */
  readonly unseen: readonly string[];
  /** Services that the user named and that the code did not use. Only of undisturbed histories. */
  readonly unused?: readonly string[] | undefined;
  /** Columns that the rows of the state lack, such as `orders.id`. Only of undisturbed histories. */
  readonly notCompared?: readonly string[] | undefined;
  /** Whether the code reached another program that is not simulated, as each further history would. Default false. */
  readonly isReal?: boolean | undefined;
  /** The last error that the receiver or the server reported. */
  readonly lastError?: string | undefined;
  /** The first point that was not reached as in the undisturbed history. */
  readonly notReached?: number | undefined;
  /** A digest of the world at the moment at which no process was left alive. Equal digests continue equally. */
  readonly worldAtDeath?: string | undefined;
}

/** How an undisturbed history differs from the first one. */
export type Variant =
  /** The events in reverse. */
  | "reversed"
  /** Sequences that continue at other values and, where they are simulated, another seed and another time. */
  | "shifted"
  /** Equal to the first one, but the source lines of more calls are known. */
  | "traced";

/** Runs one history: in this process, or with real processes. */
export interface Runner {
  run(faults: readonly Fault[], variant?: Variant): Promise<History>;
}

export interface HistoryLine {
  /** Milliseconds since the first delivery. */
  readonly ms: number;
  /** `sender`, or the letter of a process. */
  readonly who: string;
  readonly text: string;
  /** A remark on the line, such as `effect 2: duplicate`. */
  readonly note?: string | undefined;
  readonly fault?: FaultKind | undefined;
  /** The two ends of what the line shows: `sender`, a process, `store`, `database`, or the name of a service. */
  readonly from?: string | undefined;
  readonly to?: string | undefined;
  /** The effects of the crossing that was executed. */
  readonly effects?: readonly string[] | undefined;
  /** Whether it is one effect more than in the undisturbed history. */
  readonly isExtra?: boolean | undefined;
}

export type FindingKind =
  "duplicate" | "lost" | "partial" | "different" | "order_dependent" | "stuck";

export interface Finding {
  readonly kind: FindingKind;
  /** The effect or table: `charge`, `orders`. */
  readonly effect: string;
  /** The place in your code that made the call: `src/orders.ts:23`. */
  readonly source?: string | undefined;
  /** For the option `only`: `crash@3 crash@7`. Empty if it occurs without a fault. */
  readonly repeat: string;
  readonly history: readonly HistoryLine[];
  readonly advice: string;
  /** Each point and kind at which one fault alone has this result: `crash@3`. */
  readonly cells: readonly string[];
}
