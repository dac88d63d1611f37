import { withDeadline } from "../lib/deadline.js";
import type { Config } from "../setup/config.js";
import type {
  ClaimRequest,
  ClaimResult,
  CompleteResult,
  MaybePromise,
  ReleaseRequest,
} from "../store.js";

/** The right to run an event's handler, once the store has granted it. Knows nothing of the delivery. */
export interface Claim {
  /** Of the record: 32 hex digits. */
  readonly key: string;
  /** Stands for the delivery id where several of them can share a record. */
  readonly lineage: string | undefined;
  /** Names the claim. */
  readonly token: string;
  /** In monotonic time, counted from when the claim or its extension was sent: it started no earlier. */
  leaseEndsAt: number;
  /** Whether the run has held its lease without a gap so far. */
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

/** One call to the store for a claim, within the operation's deadline. */
export function callStore<Operation extends keyof Results>(
  { clock, store, storeTimeouts, leaseMs, retainMs }: Config,
  { key, token, lineage }: Claim,
  operation: Operation,
  extra?: Extra,
): MaybePromise<Results[Operation]> {
  // `to` is given with every release; the result is the operation's own.
  const request = { token, leaseMs, retainMs, lineage, ...extra } as ReleaseRequest;
  return withDeadline(
    clock,
    storeTimeouts[operation],
    `store.${operation}`,
    (call) => store[operation](key, request, call) as MaybePromise<Results[Operation]>,
  );
}
