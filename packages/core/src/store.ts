/** A value, or a promise of one. Synchronous values stay synchronous: no timer, no turn of the loop. */
export type MaybePromise<T> = T | Promise<T>;

/** What a store or a body reader receives with each call. */
export interface DeadlineCall {
  /** Aborted when the call's deadline has passed: its result is no longer awaited. */
  readonly signal: AbortSignal;
}

/** What a store receives with each call. */
export type StoreCall = DeadlineCall;

/** What the holder of a claim says with every call. */
export interface ClaimRequest {
  /** Names this claim. A second claim with the same token is the same claim, sent again. */
  readonly token: string;
  /** How long the claim lasts without `extend`, in milliseconds of the store's clock. */
  readonly leaseMs: number;
  /** How long the record is kept from now, in milliseconds. */
  readonly retainMs: number;
  /** Which lineage of attempts this is, 32 hex digits. Only where several can share a record. */
  readonly lineage?: string | undefined;
  /** Of a claim by `resume`: takes a `parked` record as well, with run 1. */
  readonly takeParked?: boolean | undefined;
}

export interface ReleaseRequest extends ClaimRequest {
  /** `failed`: run it again; `parked`: never again; `unused`: no handler ran, so do not count the run. */
  readonly to: "failed" | "parked" | "unused";
}

export type ClaimResult =
  /** The caller owns the record. */
  | {
      readonly status: "claimed";
      /** Grows with every new owner, also after the record was lost: max(previous + 1, store clock in ms). */
      readonly fence: number;
      /** 1 for the first handler run of this record, 2 for the second, … */
      readonly run: number;
      /** Another record had to go before its retention ended to make room for this one. */
      readonly evictedEarly?: boolean | undefined;
    }
  /** Somebody else's lease is alive. */
  | {
      readonly status: "busy";
      /** Milliseconds until that lease ends unless it is extended. */
      readonly leaseLeftMs: number;
    }
  /** Nothing is left to do; `lineage` is whose attempt did it. */
  | { readonly status: "done" | "parked"; readonly lineage?: string | undefined };

/** `owner`: by the holder of the claim; `late`: by a former one; `restored`: there was no record; `already`: it was done. */
export type CompleteResult = "owner" | "late" | "restored" | "already";

/**
 * Where a receiver remembers what it has done: one record per key, in the state `running`, `done`,
 * `failed` or `parked`. Every call is atomic for its key and judged by the store's own clock. Keys
 * arrive hashed and namespaced (32 hex digits). A call that cannot be served throws or
 * rejects, with any error: the receiver responds with 503 and the sender tries again. A
 * `WebhookError` with the code `not_sent` states that the call has not left the process.
 */
export interface DeliveryStore {
  /** Whether other processes see the same records. A receiver on a shared store needs a `name`. */
  readonly shared: boolean;

  /**
   * Takes the record if it is absent, `failed`, `running` with a dead lease, or, with `takeParked`,
   * `parked`; run and fence grow. A live lease with more left than `leaseMs` is cut to `leaseMs`: the
   * clock was set back.
   * A live lease under the same token is `claimed` again with the same numbers.
   */
  claim(key: string, request: ClaimRequest, call: StoreCall): MaybePromise<ClaimResult>;

  /** Makes the record `done`, whatever it was: any process that finished the work may call it. `done` never changes again. */
  complete(key: string, request: ClaimRequest, call: StoreCall): MaybePromise<CompleteResult>;

  /** Gives the claim back. False, and nothing changed, unless the record is `running` under this token. */
  release(key: string, request: ReleaseRequest, call: StoreCall): MaybePromise<boolean>;

  /** Renews the lease, also a dead one. False unless the record is `running` under this token. Never shortens the retention. */
  extend(key: string, request: ClaimRequest, call: StoreCall): MaybePromise<boolean>;

  /** Removes the record. False if there is none or its lease is alive. */
  forget(key: string, call: StoreCall): MaybePromise<boolean>;

  /** Problems of the store's set-up in plain words, for operators; empty when all is well. */
  check?(call: StoreCall): MaybePromise<readonly string[]>;
}
