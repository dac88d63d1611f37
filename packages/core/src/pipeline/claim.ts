import { identify } from "../identity.js";
import { endWith, type Ending } from "../outcome.js";
import { andThen, attempt, type MaybePromise } from "../promise.js";
import { settle } from "../settle.js";
import type { ClaimResult } from "../store.js";
import { callStore } from "../store-call.js";
import { describe } from "../text.js";
import type { Visit } from "../visit.js";

const longestRetryMs = 5_000;

// Of all tokens in this process: not random at module level (Workers), and a random one each costs more than the store.
let ours: string | undefined;
let claims = 0;

/** Stage 5: one atomic store call decides whether this delivery may run. */
export function claim(visit: Visit): MaybePromise<Ending | undefined> {
  return andThen(identify(visit), (unidentified) => unidentified ?? ask(visit));
}

function ask(visit: Visit): MaybePromise<Ending | undefined> {
  const { config, context } = visit;
  visit.token = `${(ours ??= crypto.randomUUID())}-${claims++}`;
  visit.leaseEndsAt = config.clock.monotonic() + config.leaseMs;
  context.dedupe = "verified";

  const failed = (error: unknown) => {
    if (config.onStoreError === "process") {
      // Not given back: if the store did take the claim, the run is its owner.
      context.dedupe = "unverified";
      return undefined;
    }
    giveBack(visit);
    return endWith("store_unavailable", describe(error));
  };

  const answered = (result: ClaimResult) => {
    // A store is somebody else's code: what it answers is a claim only if it says so.
    switch (result?.status) {
      case "claimed":
        visit.leased = true;
        context.run = result.run;
        context.fence = result.fence;
        if (result.evictedEarly) visit.warn("evicted_early");
        return undefined;
      case "busy":
        return endWith("in_flight", undefined, Math.min(result.leaseLeftMs, longestRetryMs));
      case "done":
      case "parked":
        if (result.lineage !== visit.lineage) visit.warn("other_delivery_id");
        return endWith(result.status === "done" ? "duplicate" : "parked");
      default:
        return failed("no ClaimResult");
    }
  };

  const late = (result: ClaimResult) => {
    if (result?.status === "claimed" && context.dedupe === "verified") giveBack(visit);
  };

  return attempt(() => callStore(visit, "claim", undefined, late), answered, failed);
}

/** The store may have taken a claim whose answer got lost. Nothing ran under it, so it must not count as a run. */
const giveBack = (visit: Visit) => visit.background(settle(visit, "unused"));
