import { WebhookError } from "@svc-webhooks/core";

/** How long a transaction may take to begin (one connection and one round trip), in milliseconds. */
const beginMs = 5_000;

/** How many leases in a row `work` may last without a renewal, if the renewals find no free connection in the pool. */
const mostLeases = 10;

/** How much longer to wait for `work` to end by itself before the signal is aborted, in milliseconds. */
const graceMs = 1_000;

/**
 * Limits how long a transaction waits for the server's replies, and how long it keeps its connection without a lease.
 *
 * - **begin**: after `beginMs`, the signal is aborted.
 * - **work**: the statements are the application's, so only the lease is watched. Each renewal starts the lease again.
 *   1 s after the lease ends, the signal is aborted, unless a renewal during this lease found no connection. In that
 *   case, the pool may be full of healthy transactions like this one, so the lease is repeated, up to `mostLeases`
 *   leases in all. 1 s after a renewal has found that the server has rolled the transaction back, the signal is aborted
 *   too.
 * - **end**: after one lease, the signal is aborted.
 */
export class ReplyLimit {
  readonly leaseMs: number;
  readonly #controller = new AbortController();
  #timer: NodeJS.Timeout | undefined;
  #isPoolFull = false;
  #leasesLeft = mostLeases;
  /** Whether `work` is running, and the server is not known to have rolled the transaction back. */
  isWorking = false;
  /** Whether `work` has ended, and the transaction completes the run and commits. Stays true afterwards. */
  isEnding = false;

  /** Starts the time limit for beginning the transaction. */
  constructor(leaseMs: number) {
    this.leaseMs = leaseMs;
    this.#after(beginMs, () => this.#controller.abort(notBegun()));
  }

  /** The signal that is aborted when the time limit has passed. Its reason is a `WebhookError` `no_reply`. */
  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  /** Starts the time limit for `work`. Throws if the previous limit has passed. */
  startWork(): void {
    this.signal.throwIfAborted();
    this.isWorking = true;
    this.#startLease();
  }

  /** Restarts the lease after it was renewed. */
  renew(): void {
    this.#leasesLeft = mostLeases;
    if (this.isWorking) this.#startLease();
  }

  /**
   * Records that the server has rolled the transaction back. If `work` has not ended 1 s later, the signal is aborted.
   * The wait lets `work` reject first with its own error, which states the cause more precisely.
   */
  noteRollback(): void {
    if (!this.isWorking) return;
    this.isWorking = false;
    this.#after(graceMs, () => this.#controller.abort(rolledBackInWork()));
  }

  /** Records that the lease could not be renewed, because the pool provided no connection. */
  noteFullPool(): void {
    this.#isPoolFull = true;
  }

  /** Starts the time limit for ending the transaction. Throws if the previous limit has passed. */
  startEnd(): void {
    this.signal.throwIfAborted();
    this.isWorking = false;
    this.isEnding = true;
    this.#after(this.leaseMs, () => this.#controller.abort(noReply(this.leaseMs)));
  }

  /** Settles like `work`, or rejects when the time limit has passed. */
  over<Result>(work: Promise<Result>): Promise<Result> {
    return new Promise((resolve, reject) => {
      this.signal.addEventListener("abort", () => reject(this.signal.reason as Error));
      work.then(resolve, reject).finally(() => {
        this.isWorking = false;
        clearTimeout(this.#timer);
      });
    });
  }

  #startLease(): void {
    this.#isPoolFull = false;
    this.#leasesLeft -= 1;
    this.#after(this.leaseMs, () => {
      // Waits longer, so that a process that was frozen can read the data that has arrived meanwhile.
      this.#after(graceMs, () => {
        if (this.#isPoolFull && this.#leasesLeft > 0) this.#startLease();
        else this.#controller.abort(leaseEnded());
      });
    });
  }

  #after(ms: number, run: () => void): void {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(run, ms);
  }
}

const notBegun = () =>
  new WebhookError(
    "no_reply",
    `The transaction did not begin within ${beginMs / 1_000} s, because no connection in the pool became free or PostgreSQL did not reply. Nothing has been committed. Do not catch this error in the handler.`,
  );

const noReply = (ms: number) =>
  new WebhookError(
    "no_reply",
    `PostgreSQL did not confirm the end of the transaction within ${ms / 1_000} s. Do not catch this error in the handler: the next attempt finds out whether the transaction was committed.`,
  );

const leaseEnded = () =>
  new WebhookError(
    "no_reply",
    "The lease expired while `work` was running. PostgreSQL has probably stopped responding, or `work` ran past `maxRunMs`. Nothing has been committed. Do not catch this error in the handler.",
  );

const rolledBackInWork = () =>
  new WebhookError(
    "no_reply",
    "PostgreSQL rolled the transaction back while `work` was running: its connection was lost, a statement failed, or `work` ended it. Do not catch this error in the handler.",
  );
