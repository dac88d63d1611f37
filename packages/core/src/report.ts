import type { DeliveryFacts, OutcomeCode } from "./outcome.js";

/** The stages, in order. If a delivery has several faults, the first check that fails determines the outcome. */
export type Stage = "admit" | "verify" | "decode" | "route" | "claim" | "run";

/**
 * The milliseconds spent in each stage that was reached; `enqueueMs`: the milliseconds that a queue took to store the
 * delivery.
 */
export type StageTimes = Partial<Record<`${Stage}Ms` | "enqueueMs", number>>;

/**
 * A flat record of one call of `receive` or `resume`, or of a run that outlived its response, for logs and metrics.
 * Never contains a body, an address or a key.
 */
export interface DeliveryReport extends DeliveryFacts, Readonly<StageTimes> {
  /**
   * `answered`: the outcome that `receive` or `resume` resolves to. `settled`: the outcome of a run that outlived its
   * response.
   */
  readonly phase: "answered" | "settled";
  /** The receiver's name. */
  readonly receiver: string;
  /** The outcome's code. */
  readonly code: OutcomeCode;
  /** The HTTP status that belongs to the code. */
  readonly status: number;
  /**
   * The time until the sender should try again, in milliseconds. Absent unless the response has a `Retry-After`.
   */
  readonly retryAfterMs?: number | undefined;
  /**
   * The milliseconds from the call of `receive()` or `resume()` to this report; `admitMs` … `runMs` and `enqueueMs` are
   * its parts.
   */
  readonly totalMs: number;
}
