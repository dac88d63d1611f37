import { withDeadline } from "../lib/deadline.js";
import type { Config } from "../setup/config.js";
import type {
  ClaimRequest,
  ClaimResult,
  CompleteResult,
  MaybePromise,
  ReleaseRequest,
} from "../store.js";

/**
 * The right to run an event's handler, requested from the store. It may outlive the delivery, so it holds no reference
 * to it.
 */
export interface Claim {
  /** The record's key, 32 hex digits. */
  readonly key: string;
  /** A hash of the delivery id, if deliveries with different ids can share the record. */
  readonly lineage: string | undefined;
  /** Identifies the claim. */
  readonly token: string;
  /**
   * The earliest end of the lease, in monotonic time: `leaseMs` after the last claim or extension was sent, because
   * the store's lease starts no earlier.
   */
  leaseEndsAt: number;
  /**
   * Whether the store has granted the claim and the run has held its lease since. False again once the run closes the
   * claim.
   */
  held: boolean;
}

interface Results {
  readonly claim: ClaimResult;
  readonly complete: CompleteResult;
  readonly release: boolean;
  readonly extend: boolean;
}

/** The part of a request that only some operations have. */
type Extra = Partial<Pick<ReleaseRequest, "to"> & Pick<ClaimRequest, "takeParked">>;

/** Makes a store call for a claim, within the deadline of the operation. */
export function callStore<Operation extends keyof Results>(
  { clock, store, storeTimeouts, leaseMs, retainMs }: Config,
  { key, token, lineage }: Claim,
  operation: Operation,
  extra?: Extra,
): MaybePromise<Results[Operation]> {
  // The casts are safe: every release passes `to`, and each operation returns its own type of result.
  const request = { token, leaseMs, retainMs, lineage, ...extra } as ReleaseRequest;
  return withDeadline(
    clock,
    storeTimeouts[operation],
    `store.${operation}`,
    (call) => store[operation](key, request, call) as MaybePromise<Results[Operation]>,
  );
}
