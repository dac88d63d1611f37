import { outcomeText } from "@svc-webhooks/core/outcomes";
import { attemptRange } from "../lib/attempt-range.js";
import type { DueItem } from "../clock.js";
import { faultDelayMs, faultStatus, slotsLeft } from "../faults.js";
import { iso, isoTimes } from "../lib/iso.js";
import { secretHint } from "../lib/mask.js";
import { endpointResource } from "../service/resources.js";
import type { World } from "../world.js";
import {
  isOpen,
  type AttemptRecord,
  type CallRecord,
  type DeliveryRecord,
  type EndpointRecord,
  type EventRecord,
  type FaultRecord,
} from "../state/records.js";
import type { CheckpointRecord } from "../state/table.js";
import { assumptionsOf } from "./assumptions.js";
import { strictText } from "./body.js";

/* Records as the control routes show them, without secrets and API keys. */

/** Returns `{ [name]: value }`, or an empty object if `value` is undefined. */
export const maybe = <Name extends string, Value>(name: Name, value: Value | undefined) =>
  (value === undefined ? {} : { [name]: value }) as { readonly [Key in Name]?: Value };

export function callShape(world: World, call: CallRecord) {
  const send = call.sendId === undefined ? undefined : world.state.sends.get(call.sendId);
  return {
    id: call.id,
    at: iso(call.at),
    method: call.method,
    path: call.path,
    status: call.status,
    ...maybe("code", call.code),
    ms: call.ms,
    ...maybe("idempotency_key", call.idempotencyKey),
    replayed: call.replayed === true,
    ...maybe("fault_id", call.faultId),
    // Set if the client received no response.
    ...maybe("lost", call.lost),
    ...maybe("notes", call.notes),
    ...maybe(
      "send",
      send && {
        id: send.id,
        subject: send.subject,
        to: send.to,
        history: isoTimes(send.history),
      },
    ),
    events: eventsOf(world, call).map((event) => eventShape(world, event)),
  };
}

export const eventsOf = ({ state }: World, call: CallRecord): readonly EventRecord[] =>
  call.events.flatMap((id) => state.events.get(id) ?? []);

export const deliveriesOf = ({ state }: World, event: EventRecord): readonly DeliveryRecord[] =>
  event.deliveries.flatMap((id) => state.deliveries.get(id) ?? []);

export const eventShape = (world: World, event: EventRecord) => ({
  id: event.id,
  type: event.type,
  at: iso(event.at),
  ...maybe("not_sent", event.notSent),
  deliveries: deliveriesOf(world, event).map((delivery) => deliveryShape(world, delivery)),
});

export const deliveryShape = (world: World, delivery: DeliveryRecord) => ({
  id: delivery.id,
  endpoint_id: delivery.endpointId,
  url: world.state.endpoints.get(delivery.endpointId)?.url ?? "",
  state: delivery.state,
  ...maybe("edited", delivery.edited),
  attempts: delivery.attempts.map(attemptSummary),
  ...maybe("dropped_attempts", attemptRange(delivery.attempts).first - 1 || undefined),
  ...maybe("next", nextAttempt(world, delivery)),
  assumptions: assumptionsOf(delivery),
});

export const attemptSummary = (attempt: AttemptRecord) => ({
  n: attempt.n,
  trigger: attempt.trigger,
  started_at: iso(attempt.startedAt),
  ms: attempt.ms,
  ok: attempt.ok,
  ...maybe("status", attempt.response?.status),
  ...maybe("code", receiverCode(attempt)),
  ...maybe("error", attempt.error?.kind),
  ...maybe("fault_id", attempt.faultId),
  ...maybe("tamper", attempt.tamper),
});

/**
 * Returns the scheduled attempt, if there is one: `n` is its `X-SVC-Attempt`, `of` is the highest number that A-09
 * still allows, and `at` is its time.
 */
function nextAttempt({ ledger }: World, delivery: DeliveryRecord) {
  if (delivery.nextAttemptAt === undefined) return undefined;
  const n = delivery.attempt + 1;
  const retries = Math.max(0, ledger.get("delivery.retry").length - delivery.retries);
  const isRedelivery = delivery.trigger === "redeliver";
  // If a redelivery fails, the schedule that it interrupted resumes. If it interrupted none, the delivery ends.
  const resumed = delivery.resumeAt === undefined ? 0 : retries + 1;
  return { n, of: n + (isRedelivery ? resumed : retries), at: iso(delivery.nextAttemptAt) };
}

/** The codes parsed so far. They are cached because searches need them repeatedly. */
const codes = new WeakMap<AttemptRecord, { readonly code: string | undefined }>();

/**
 * Returns the error code in a receiver's response, `{"error":{"code":…}}`, or the outcome that an svc-webhooks receiver
 * reports in `{"status":…}`. Returns undefined if there is neither.
 */
export function receiverCode(attempt: AttemptRecord): string | undefined {
  const known = codes.get(attempt);
  if (known) return known.code;
  const code = codeIn(attempt.response?.body.content);
  codes.set(attempt, { code });
  return code;
}

function codeIn(content: Uint8Array | undefined): string | undefined {
  try {
    const parsed = JSON.parse(strictText(content ?? new Uint8Array()) ?? "") as {
      readonly error?: { readonly code?: unknown };
      readonly status?: unknown;
    } | null;
    const { error, status } = parsed ?? {};
    // `error.code` may have any value. `status` counts only if it is an svc-webhooks outcome.
    const code = error?.code ?? (outcomeText(String(status)) && status);
    return typeof code === "string" ? code.slice(0, 100) : undefined;
  } catch {
    return undefined;
  }
}

export const endpointShape = (endpoint: EndpointRecord) => ({
  ...endpointResource(endpoint),
  created_at: iso(endpoint.createdAt),
  secret_hint: secretHint(endpoint.secret),
  ...maybe(
    "previous",
    endpoint.previous && {
      secret_hint: secretHint(endpoint.previous.secret),
      until: iso(endpoint.previous.until),
    },
  ),
});

export const faultShape = (fault: FaultRecord) => ({
  id: fault.id,
  target: fault.target,
  kind: fault.kind,
  ...maybe("status", fault.status),
  ...maybe("retry_after", fault.retryAfter),
  ...maybe("delay_ms", fault.delayMs),
  ...maybe("result", fault.result),
  ...maybe("sign_again", fault.signAgain),
  canceled: fault.canceled === true,
  slots: fault.slots.map(({ usedBy }) => ({ what: faultText(fault), ...maybe("used_by", usedBy) })),
  left: slotsLeft(fault),
});

/** Describes the effect of one use of a fault. */
export function faultText(fault: FaultRecord): string {
  if (fault.kind === "status") return `status ${faultStatus(fault)}`;
  if (fault.kind === "slow") return `slow by ${faultDelayMs(fault)} ms`;
  if (fault.result === "succeeded") return "drop, shown as succeeded";
  if (fault.signAgain) return "mutate and sign again";
  return fault.kind.replace("_", " ");
}

export const checkpointShape = ({ id, clock, copies }: CheckpointRecord) => ({
  name: id,
  at: iso(clock.now),
  calls: copies.call.length,
  deliveries: copies.delivery.length,
  pending: copies.delivery.filter(isOpen).length,
});

export const clockShape = ({ clock }: World, item?: DueItem) => ({
  mode: clock.mode,
  ...(clock.mode === "accelerated" ? { speed: clock.speed } : {}),
  now: iso(clock.now()),
  offset_ms: clock.offsetMs,
  ...(clock.nextDue === undefined ? {} : { next_due: iso(clock.nextDue) }),
  ...maybe("item", item),
});
