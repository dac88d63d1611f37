import type { DeliveryFacts, OutcomeCode } from "./outcome.js";

/** The stages in their order; also the order in which checks answer when several things are wrong. */
export type Stage = "admit" | "verify" | "decode" | "route" | "claim" | "run";

/** Milliseconds spent in each stage that was reached. */
export type StageTimes = Partial<Record<`${Stage}Ms`, number>>;

/** One flat record per answer, for logs and metrics. Never holds a body, an address or a key. */
export interface DeliveryReport extends DeliveryFacts, Readonly<StageTimes> {
  /** `answered`: what the sender was told. `settled`: how a run ended that outlived its answer. */
  readonly phase: "answered" | "settled";
  /** The receiver's name. */
  readonly receiver: string;
  readonly code: OutcomeCode;
  readonly status: number;
  readonly retryAfterMs?: number | undefined;
  /** Milliseconds from the call of `receive()` to this record; `admitMs` … `runMs` are its parts. */
  readonly totalMs: number;
}
