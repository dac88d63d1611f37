import { fingerprint } from "#hmac";
import { headerNames } from "../headers.js";
import { Ending } from "../outcome.js";
import { callStore } from "../store-call.js";
import { describe, isFilled } from "../text.js";
import type { Visit } from "../visit.js";

const longestRetryMs = 5_000;

/** Stage 5: one atomic store call decides whether this delivery may run. */
export async function claim(visit: Visit): Promise<Ending | undefined> {
  const { config, facts } = visit;
  const unidentified = await identify(visit);
  if (unidentified) return unidentified;

  visit.token = crypto.randomUUID();
  visit.leaseEndsAt = config.clock.monotonic() + config.leaseMs;
  try {
    const result = await callStore(visit, "claim", undefined, (late) => {
      if (late?.status === "claimed") giveBack(visit);
    });
    switch (result?.status) {
      case "claimed":
        facts.run = result.run;
        facts.fence = result.fence;
        if (result.evictedEarly) visit.warn("evicted_early");
        return undefined;
      case "busy":
        return new Ending("in_flight", undefined, Math.min(result.leaseLeftMs, longestRetryMs));
      case "done":
      case "parked":
        if (result.lineage !== visit.lineage) visit.warn("other_delivery_id");
        return new Ending(result.status === "done" ? "duplicate" : "parked");
      default:
        // A store is somebody else's code: what it answers is a claim only if it says so.
        throw new Error("no ClaimResult");
    }
  } catch (error) {
    // The store may have taken a claim whose answer got lost.
    giveBack(visit);
    return new Ending("store_unavailable", describe(error));
  }
}

/** Finds the record the delivery belongs to. */
async function identify(visit: Visit): Promise<Ending | undefined> {
  const { facts } = visit;
  const { name, dedupeBy, eventId } = visit.config;
  const signedId: unknown = eventId(visit.body);
  const signed = isFilled(signedId);
  facts.eventIdSigned = signed;
  facts.eventId = signed ? signedId : visit.header(headerNames.eventId) || undefined;
  if (dedupeBy === "event" && !signed) {
    return new Ending("misconfigured", "the option eventId finds no id");
  }
  visit.key = await hashed(name, "delivery", facts.deliveryId);
  if (dedupeBy !== "delivery") {
    visit.lineage = visit.key;
    const same = dedupeBy === "body" ? await fingerprint(visit.bytes) : [facts.type, facts.eventId];
    visit.key = await hashed(name, dedupeBy, same);
  }
  return undefined;
}

/** Senders choose these strings, so they are hashed; as JSON, which keeps their borders apart. */
const hashed = (...parts: unknown[]) =>
  fingerprint(new TextEncoder().encode(JSON.stringify(parts)));

/** Nothing ran under this claim. Where this fails too, the lease ends by itself. */
function giveBack(visit: Visit): void {
  const release = async () => callStore(visit, "release", "unused");
  visit.background(release().catch(() => {}));
}
