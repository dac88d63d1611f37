import { identify } from "../identity.js";
import { endWith, type Ending } from "../outcome.js";
import { settle } from "../settle.js";
import { callStore } from "../store-call.js";
import { describe } from "../text.js";
import type { Visit } from "../visit.js";

const longestRetryMs = 5_000;

/** Stage 5: one atomic store call decides whether this delivery may run. */
export async function claim(visit: Visit): Promise<Ending | undefined> {
  const { config, facts } = visit;
  const unidentified = await identify(visit);
  if (unidentified) return unidentified;

  visit.token = crypto.randomUUID();
  visit.leaseEndsAt = config.clock.monotonic() + config.leaseMs;
  facts.dedupe = "verified";
  try {
    const result = await callStore(visit, "claim", undefined, (late) => {
      if (late?.status === "claimed" && facts.dedupe === "verified") giveBack(visit);
    });
    switch (result?.status) {
      case "claimed":
        visit.leased = true;
        facts.run = result.run;
        facts.fence = result.fence;
        if (result.evictedEarly) visit.warn("evicted_early");
        return undefined;
      case "busy":
        return endWith("in_flight", undefined, Math.min(result.leaseLeftMs, longestRetryMs));
      case "done":
      case "parked":
        if (result.lineage !== visit.lineage) visit.warn("other_delivery_id");
        return endWith(result.status === "done" ? "duplicate" : "parked");
      default:
        // A store is somebody else's code: what it answers is a claim only if it says so.
        throw new Error("no ClaimResult");
    }
  } catch (error) {
    if (config.onStoreError === "process") {
      // Not given back: if the store did take the claim, the run is its owner.
      facts.dedupe = "unverified";
      return undefined;
    }
    giveBack(visit);
    return endWith("store_unavailable", describe(error));
  }
}

/** The store may have taken a claim whose answer got lost. Nothing ran under it, so it must not count as a run. */
const giveBack = (visit: Visit) => visit.background(settle(visit, "unused"));
