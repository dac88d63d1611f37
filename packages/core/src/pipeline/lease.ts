import { callExtend } from "../claim/store-call.js";
import type { DeliveryState } from "./delivery-state.js";

/**
 * Keeps the lease of a running handler alive until `maxRunMs`, with one timer for three deadlines: the next extension,
 * the end of the lease and the handler's timeout. The first extensions after 60 s and 5 min, and the last extension,
 * warn of a long run. A lease that has ended is still extended: unless another receiver has claimed the record, this
 * regains the lease, so that no other run can start.
 */
export class Lease {
  readonly #state: DeliveryState;
  readonly #onTimeout: (state: DeliveryState) => void;
  readonly #claimedAt: number;
  readonly #pauseMs: number;
  #extendAt: number;
  #longAtMs = 60_000;
  #cancel: (() => void) | undefined;

  constructor(state: DeliveryState, onTimeout: (state: DeliveryState) => void) {
    const { config, claim } = state;
    this.#state = state;
    this.#onTimeout = onTimeout;
    this.#claimedAt = claim.leaseEndsAt - config.leaseMs;
    this.#pauseMs = config.leaseMs / 3;
    // A run without a claim (`onStoreError: "process"`) has no lease to extend.
    this.#extendAt = claim.held ? this.#claimedAt + this.#pauseMs : Infinity;
    this.#schedule();
  }

  /** Must be called when the handler has settled. */
  stop(): void {
    this.#cancel?.();
  }

  #schedule(): void {
    const { config, claim, timeoutAt } = this.#state;
    const next = Math.min(timeoutAt, this.#extendAt, claim.held ? claim.leaseEndsAt : Infinity);
    // A timer may fire up to 1 ms early by this clock. `#tick` then schedules it again, with a delay of at least 1 ms.
    const delayMs = Math.max(Math.ceil(next - config.clock.monotonic()), 1);
    if (next < Infinity) this.#cancel = config.clock.after(delayMs, () => this.#tick());
  }

  #tick(): void {
    const state = this.#state;
    const { config, claim } = state;
    const now = config.clock.monotonic();
    if (now >= claim.leaseEndsAt) state.loseLease();
    if (now >= state.timeoutAt) {
      state.timeoutAt = Infinity;
      this.#onTimeout(state);
    }
    if (now >= this.#extendAt) {
      const runMs = now - this.#claimedAt;
      const isLast = runMs + this.#pauseMs > config.maxRunMs;
      this.#extendAt = isLast ? Infinity : now + this.#pauseMs;
      if (isLast || runMs >= this.#longAtMs) {
        this.#longAtMs = runMs < 300_000 ? 300_000 : Infinity;
        const end = isLast ? "; last renewal (maxRunMs)" : "";
        state.warn("long_run", `${Math.floor(runMs / 1000)} s so far${end}`);
      }
      this.#extend().catch((error) => config.onInternalError(error, "extend"));
    }
    this.#schedule();
  }

  async #extend(): Promise<void> {
    const { config, claim } = this.#state;
    const sentAt = config.clock.monotonic();
    if (await callExtend(config, claim)) {
      claim.leaseEndsAt = sentAt + config.leaseMs;
    } else {
      this.#extendAt = Infinity;
      this.#state.loseLease();
    }
  }
}
