import { callStore, type Claim } from "../claim/claim.js";
import { releaseUnused } from "../claim/close.js";
import { recordKey } from "../claim/record-key.js";
import { codeOf } from "../errors.js";
import { headerNames } from "../headers.js";
import { endWith, type Ending } from "../outcome.js";
import { andThen, attempt, type MaybePromise } from "../promise.js";
import type { ClaimResult } from "../store.js";
import { describe, isFilled } from "../text.js";
import type { Visit } from "../visit.js";
import { unusable } from "./decode.js";

const longestRetryMs = 5_000;

// Part of every token of this process: not random at module level (Workers), and a random one each costs more than the store.
let ours: string | undefined;
let claims = 0;

/** Stage 5: one atomic store call decides whether this delivery may run. */
export function claim(visit: Visit): MaybePromise<Ending | undefined> {
  const { config, context, body, bytes } = visit;
  const signedId: unknown = config.eventId(body, bytes);
  const isSigned = isFilled(signedId);
  if (!isSigned && (config.dedupeBy === "event" || (signedId ?? "") !== "")) {
    return endWith("misconfigured", unusable("eventId", signedId));
  }
  const eventId = isSigned ? signedId : visit.header(headerNames.eventId) || undefined;
  context.eventIdSigned = isSigned;
  context.eventId = eventId;
  // The verified delivery has an id, and the decoded body a type.
  const { deliveryId, type } = context as { deliveryId: string; type: string };
  return andThen(recordKey(config, { deliveryId, type, eventId, bytes }), ({ key, lineage }) => {
    const token = `${(ours ??= crypto.randomUUID())}-${claims++}`;
    const leaseEndsAt = config.clock.monotonic() + config.leaseMs;
    return requestClaim(visit, (visit.claim = { key, lineage, token, leaseEndsAt, held: false }));
  });
}

function requestClaim(visit: Visit, held: Claim): MaybePromise<Ending | undefined> {
  const { config, context, isResumed } = visit;

  const onError = (error: unknown) => {
    if (config.onStoreError === "process") {
      // Not released: if the store did grant the claim, the run is its owner.
      context.dedupe = "unverified";
      return undefined;
    }
    if (codeOf(error) !== "not_sent") visit.detached(releaseUnused(config, held, error));
    return endWith("store_unavailable", describe(error));
  };

  const onResult = (result: ClaimResult) => {
    // A store is somebody else's code: what it returns is a claim only if it says so.
    switch (result?.status) {
      case "claimed":
        held.held = true;
        context.dedupe = "verified";
        context.run = result.run;
        context.fence = result.fence;
        if (result.evictedEarly) visit.warn("evicted_early");
        return undefined;
      case "busy":
        return endWith("in_flight", undefined, Math.min(result.leaseLeftMs, longestRetryMs));
      case "done":
      case "parked":
        if (result.lineage !== held.lineage) visit.warn("other_delivery_id");
        return endWith(result.status === "done" ? "duplicate" : "parked");
      default:
        return onError("no ClaimResult");
    }
  };

  const extra = isResumed ? { takeParked: true } : undefined;
  return attempt(() => callStore(config, held, "claim", extra), onResult, onError);
}
