import { withDeadline, type MaybePromise } from "./promise.js";
import type { ClaimResult, CompleteResult, ReleaseRequest } from "./store.js";
import type { Visit } from "./visit.js";

interface Answers {
  readonly claim: ClaimResult;
  readonly complete: CompleteResult;
  readonly release: boolean;
  readonly extend: boolean;
}

/** One call to the store in the name of the visit's claim, within the operation's deadline; `late` gets what comes after it. */
export function callStore<Operation extends keyof Answers>(
  { config, key, token, lineage }: Visit,
  operation: Operation,
  to?: ReleaseRequest["to"],
  late?: (answer: Answers[Operation]) => unknown,
): MaybePromise<Answers[Operation]> {
  const { leaseMs, retainMs } = config;
  // `to` is there when it is a release; the answer is the operation's own.
  const request = { token, leaseMs, retainMs, lineage, to } as ReleaseRequest;
  return withDeadline(
    config.clock,
    config.storeTimeouts[operation],
    `store.${operation}`,
    (call) => config.store[operation](key, request, call) as MaybePromise<Answers[Operation]>,
    late,
  );
}
