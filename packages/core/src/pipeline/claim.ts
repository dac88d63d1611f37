import { releaseUnused } from "../claim/close.js";
import { recordKey, type RecordKey } from "../claim/record-key.js";
import { headerNames } from "../delivery.js";
import { codeOf } from "../errors.js";
import { PermanentError } from "../handler-errors.js";
import { describe, isFilled } from "../lib/text.js";
import { retryLaterMs } from "../lib/times.js";
import { enqueueOf } from "../setup/queued-handler.js";
import type { ClaimResult, DeadlineCall } from "../store.js";
import { unusable } from "./decode.js";
import type { DeliveryState } from "./delivery-state.js";
import { attemptWithin, follow } from "./drive.js";
import { endWith, type StepResult } from "./ending.js";
import { enqueue } from "./enqueue.js";

// The random part of every token, created only once, because a random number per claim would cost more than the claim
// in the memory store. The first claim creates it, because Cloudflare Workers refuse random numbers at module level.
let tokenPrefix: string | undefined;
let claimCount = 0;

const otherKey =
  "stored by a receiver of another name or dedupeBy: give both the same `name` and `dedupeBy`";

/**
 * Stage 5: one atomic store call decides whether this delivery may run. A delivery whose handler runs from a queue is
 * stored in the queue instead. It is claimed when the queue's worker resumes it.
 */
export function claim(state: DeliveryState): StepResult {
  const { config, context, body, bytes } = state;
  const signedId: unknown = config.eventId(body, bytes);
  const isSigned = isFilled(signedId);
  if (!isSigned && (config.dedupeBy === "event" || (signedId ?? "") !== "")) {
    return endWith("misconfigured", unusable("eventId", signedId));
  }
  const eventId = isSigned
    ? signedId
    : (!config.scheme && state.header(headerNames.eventId)) || undefined;
  context.eventIdSigned = isSigned;
  context.eventId = eventId;
  // The cast is safe, because the earlier stages have set the id and the type.
  const { deliveryId, type } = context as { deliveryId: string; type: string };
  return follow(state, recordKey(config, { deliveryId, type, eventId, bytes }), withKey);
}

function withKey(state: DeliveryState, { key, lineage }: RecordKey): StepResult {
  const { config } = state;
  const { leaseMs, retainMs } = config;
  const token = `${(tokenPrefix ??= crypto.randomUUID())}-${claimCount++}`;
  const leaseEndsAt = config.clock.monotonic() + leaseMs;
  state.claim = { key, request: { token, leaseMs, retainMs, lineage }, leaseEndsAt, held: false };
  if (!state.isResumed) {
    if (enqueueOf(state.handler)) return enqueue(state);
  } else if ((state.options?.key ?? key) !== key) {
    state.passToOnError(new PermanentError(otherKey));
    return endWith("misconfigured", otherKey);
  }
  return attemptWithin(
    state,
    config.storeTimeouts.claim,
    "store.claim",
    requestClaim,
    decided,
    failed,
  );
}

function requestClaim({ config, claim: requested, isResumed }: DeliveryState, call: DeadlineCall) {
  const { key, request } = requested;
  return config.store.claim(key, isResumed ? { ...request, takeParked: true } : request, call);
}

function decided(state: DeliveryState, result: ClaimResult): StepResult {
  const { context, claim: requested } = state;
  // A third-party store may return anything, so only a known status counts.
  switch (result?.status) {
    case "claimed":
      requested.held = true;
      context.dedupe = "verified";
      context.run = result.run;
      context.fence = result.fence;
      if (result.takenOver) state.warn("taken_over");
      if (result.evictedEarly) state.warn("evicted_early");
      return undefined;
    case "busy":
      return endWith("in_flight", undefined, Math.min(result.leaseLeftMs, retryLaterMs));
    case "done":
    case "parked":
      if (result.lineage !== requested.request.lineage) state.warn("other_delivery_id");
      return endWith(result.status === "done" ? "duplicate" : "parked");
    default:
      return failed(state, "not a ClaimResult");
  }
}

function failed(state: DeliveryState, error: unknown): StepResult {
  const { config, context, claim: requested } = state;
  if (config.onStoreError === "process") {
    // The claim is not released: if the store granted it, this run is its owner.
    context.dedupe = "unverified";
    return undefined;
  }
  if (codeOf(error) !== "not_sent") state.keepAlive(releaseUnused(config, requested, error));
  return endWith("store_unavailable", describe(error));
}
