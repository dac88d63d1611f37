/**
 * A value, or a promise of one. The receiver uses a synchronous value immediately, without a timer or a turn of the
 * event loop.
 */
export type MaybePromise<T> = T | Promise<T>;

/** The deadline of a call, which the receiver passes to stores and body readers. */
export interface DeadlineCall {
  /** Aborted when the call's deadline has passed. After that, the receiver no longer waits for the result. */
  readonly signal: AbortSignal;
  /**
   * The error of the call if its deadline passes before the callee has sent anything, for example a `WebhookError`
   * `not_sent` that states the cause. Set by the callee, which must not send anything after the deadline. Default: an
   * error that states only the deadline.
   */
  unsent?: Error | undefined;
}

/** The last parameter of every store call. */
export type StoreCall = DeadlineCall;

/** The parameters of `claim`. `complete`, `release` and `extend` receive the same ones, without `takeParked`. */
export interface ClaimRequest {
  /**
   * Identifies this claim. While its lease is alive, another call of `claim` with this token returns the same claim.
   */
  readonly token: string;
  /** How long the claim lasts without `extend`, in milliseconds of the store's clock. */
  readonly leaseMs: number;
  /** How long the record is kept from now, in milliseconds. `extend` ignores it. */
  readonly retainMs: number;
  /**
   * A hash of the delivery id, 32 hex digits. Only set if deliveries with different ids can share a record (`dedupeBy`
   * `"event"` or `"body"`).
   */
  readonly lineage?: string | undefined;
  /** Set by `resume`: a `parked` record can be claimed too, and starts again at run 1. */
  readonly takeParked?: boolean | undefined;
}

/** The parameters of a release. */
export interface ReleaseRequest extends ClaimRequest {
  /**
   * Determines the new state. `failed`: the next attempt runs the event again; `parked`: only `resume` runs it again;
   * `unused`: the record becomes `failed`, but the run is not counted, because no handler ran.
   */
  readonly to: "failed" | "parked" | "unused";
}

/** The result of a claim. */
export type ClaimResult =
  /** The result when the caller owns the record. */
  | {
      readonly status: "claimed";
      /**
       * A number that grows with every new owner: max(previous + 1, the store's clock in epoch milliseconds). Because
       * of the clock, it grows even after the record was lost.
       */
      readonly fence: number;
      /**
       * The number of this handler run: 1 for the first run of this record, 2 for the second, … A claim of a `parked`
       * record starts again at 1.
       */
      readonly run: number;
      /** Whether the record was `running` with a dead lease: its previous run has left no result. */
      readonly takenOver?: boolean | undefined;
      /** Whether another record was evicted before its retention ended, to make room for this one. */
      readonly evictedEarly?: boolean | undefined;
    }
  /** The result when the lease of another claim is alive. */
  | {
      readonly status: "busy";
      /** Milliseconds until that lease ends unless it is extended. */
      readonly leaseLeftMs: number;
    }
  /**
   * The result when the record is `done`, or is `parked` and `takeParked` is not set. `lineage` is that of the attempt
   * that completed or parked it.
   */
  | { readonly status: "done" | "parked"; readonly lineage?: string | undefined };

/**
 * The state of a record, as `peek` reports it. `running`: a run holds a live lease. `failed`: the next attempt runs the
 * event; a record whose lease ended without a result counts as `failed` too. `parked`: only `resume` runs it again.
 * `done`: it is never run again.
 */
export type RecordState = "running" | "failed" | "parked" | "done";

/**
 * The record that `complete` found. `owner`: the caller still owned it; `late`: it had been taken over or released;
 * `restored`: there was none; `already`: it was `done`.
 */
export type CompleteResult = "owner" | "late" | "restored" | "already";

/**
 * Keeps one record per key, in the state `running`, `done`, `failed` or `parked`. Every call is atomic for its key and
 * uses the store's own clock. A key is a hash of 32 hex digits that covers the receiver's name. A call that fails
 * throws or rejects with any error: a failed claim makes the response 503, so that the sender tries again, unless
 * `onStoreError` is `"process"`. A `WebhookError` with the code `not_sent` means that the call has not left the
 * process. A claim by a new owner, a completion, and a release that returns true keep the record for `retainMs` from
 * then. No other call prolongs it, except that `extend` keeps it at least until its lease ends.
 */
export interface DeliveryStore {
  /** Whether other processes can use the same records. A receiver on a shared store needs a `name`. */
  readonly shared: boolean;

  /**
   * Claims the record if it is absent, `failed`, `running` with a dead lease, or, with `takeParked`, `parked`. The
   * fence grows, and so does the run, which restarts at 1 for a `parked` record. If the same token already holds a live
   * lease, the result is `claimed` again, with the same numbers. A live lease with more than `leaseMs` left is
   * shortened to `leaseMs`, because the clock may have been set back.
   */
  claim(key: string, request: ClaimRequest, call: StoreCall): MaybePromise<ClaimResult>;

  /**
   * Makes the record `done`, whatever its state and even if it is absent: any process that finished the work may call
   * this. A record that is already `done` stays as it is, but this call keeps it for `retainMs` from now. Throw a
   * `WebhookError` with the code `handler_failed` if the work of this run failed although its handler resolved: the
   * receiver then releases the record as `failed`, and the outcome is `handler_failed`.
   */
  complete(key: string, request: ClaimRequest, call: StoreCall): MaybePromise<CompleteResult>;

  /** Releases the claim. Returns false, without a change, unless the record is `running` under this token. */
  release(key: string, request: ReleaseRequest, call: StoreCall): MaybePromise<boolean>;

  /**
   * Renews the lease, even a dead one: it ends `leaseMs` from now, even if it would have ended later. Returns
   * false, without a change, unless the record is `running` under this token. `retainMs` is not applied: the
   * record is kept as long as before, or as long as the lease if that ends later.
   */
  extend(key: string, request: ClaimRequest, call: StoreCall): MaybePromise<boolean>;

  /** Removes the record. Returns false if there is none or its lease is alive. */
  forget(key: string, call: StoreCall): MaybePromise<boolean>;

  /**
   * Returns the state of each record, in the order of the keys; undefined for a key without a record. Changes nothing.
   * Receivers pass up to 1,000 keys: send one statement, pipeline or call to each server or shard. Throw or reject if
   * the store cannot read a record.
   */
  peek?(
    keys: readonly string[],
    call: StoreCall,
  ): MaybePromise<readonly (RecordState | undefined)[]>;

  /**
   * Returns the problems of the store's configuration as sentences, for operators; empty if there
   * are none.
   */
  check?(call: StoreCall): MaybePromise<readonly string[]>;
}
