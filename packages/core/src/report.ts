import type { DeliveryFacts, OutcomeCode } from "./outcome.js";

/**
 * The stages in their order. If a delivery has several faults, the first failing check decides its
 * outcome.
 */
export type Stage = "admit" | "verify" | "decode" | "route" | "claim" | "run";

/** The milliseconds spent in each stage that was reached. `enqueueMs` is the time in which a queue stored the delivery. */
export type StageTimes = Partial<Record<`${Stage}Ms` | "enqueueMs", number>>;

/**
 * A flat record of one response, for logs and metrics. Never contains a body, an address or a key.
 */
export interface DeliveryReport extends DeliveryFacts, Readonly<StageTimes> {
  /**
   * `answered`: the outcome that the response reports. `settled`: the outcome of a run that
   * outlived its response.
   */
  readonly phase: "answered" | "settled";
  /** The receiver's name. */
  readonly receiver: string;
  /** The outcome's code. */
  readonly code: OutcomeCode;
  /** The HTTP status that belongs to the code. */
  readonly status: number;
  /**
   * The time of the sender's next attempt, in milliseconds from the report. Absent unless the response has a
   * `Retry-After`.
   */
  readonly retryAfterMs?: number | undefined;
  /**
   * The milliseconds from the call of `receive()` or `resume()` to this report; `admitMs` … `runMs`
   * are its parts.
   */
  readonly totalMs: number;
}
