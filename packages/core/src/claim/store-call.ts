import { withDeadline } from "../lib/deadline.js";
import type { Config } from "../setup/config.js";
import type { ClaimRequest, DeadlineCall, MaybePromise, ReleaseRequest } from "../store.js";

/**
 * The right to run an event's handler, requested from the store. Holds no reference to the delivery, which it may
 * outlive.
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

/** The state to release a record to, or undefined to complete it. */
export type ClosedTo = ReleaseRequest["to"] | undefined;

/** Completes or releases a claim. */
export const requestClose = (
  { store }: Config,
  { key, request }: Claim,
  to: ClosedTo,
  call: DeadlineCall,
): MaybePromise<unknown> =>
  to ? store.release(key, { ...request, to }, call) : store.complete(key, request, call);

/** Completes or releases a claim, within the deadline of the store call. */
export function callClose(config: Config, claim: Claim, to: ClosedTo): MaybePromise<unknown> {
  const { clock, storeTimeouts } = config;
  const operation = to ? "release" : "complete";
  return withDeadline(clock, storeTimeouts[operation], `store.${operation}`, (call) =>
    requestClose(config, claim, to, call),
  );
}

/** Extends the lease of a claim, within the deadline of the store call. */
export const callExtend = (
  { clock, store, storeTimeouts }: Config,
  { key, request }: Claim,
): MaybePromise<boolean> =>
  withDeadline(clock, storeTimeouts.extend, "store.extend", (call) =>
    store.extend(key, request, call),
  );
