import { withDeadline } from "../lib/deadline.js";
import type { Config } from "../setup/config.js";
import type {
  ClaimRequest,
  CompleteResult,
  DeadlineCall,
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
  /** The parameters of the claim's store calls, with its token. */
  readonly request: ClaimRequest;
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
  readonly complete: CompleteResult;
  readonly release: boolean;
  readonly extend: boolean;
}

/** Makes a store call for a claim, within the deadline of the operation. `to` is the new state of a release. */
export function callStore<Operation extends keyof Results>(
  config: Config,
  claim: Claim,
  operation: Operation,
  to?: ReleaseRequest["to"],
): MaybePromise<Results[Operation]> {
  return withDeadline(config.clock, config.storeTimeouts[operation], `store.${operation}`, (call) =>
    requestStore(config, claim, operation, call, to),
  );
}

/** Makes a store call for a claim, without a deadline. */
export function requestStore<Operation extends keyof Results>(
  { store }: Config,
  { key, request }: Claim,
  operation: Operation,
  call: DeadlineCall,
  to?: ReleaseRequest["to"],
): MaybePromise<Results[Operation]> {
  // The casts are safe: every release passes `to`, and each operation returns its own type of result.
  const parameters = (to ? { ...request, to } : request) as ReleaseRequest;
  return store[operation](key, parameters, call) as MaybePromise<Results[Operation]>;
}
