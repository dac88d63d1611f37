import type { HeaderList } from "../network/transport.js";
import type { AttemptRecord, DeliveryRecord } from "../state/records.js";
import type { World } from "../world.js";
import { isArchived, type Schedule } from "./schedule.js";

/** Finishes a delivery after a scheduled attempt, or schedules its next attempt. */
export function conclude(
  { state, ledger, clock }: World,
  schedule: Schedule,
  delivery: DeliveryRecord,
  { ok, response, error, trigger }: AttemptRecord,
): void {
  const { stopCodes, honorRetryAfter } = ledger.get("delivery.success");
  if (ok) return schedule.finish(delivery, "succeeded");
  if (error?.kind === "dropped") return schedule.finish(delivery, "failed");
  const stops = response !== undefined && stopCodes.includes(response.status);
  if (stops || isArchived(state, delivery)) return schedule.finish(delivery, "failed");
  if (trigger === "redeliver") return schedule.resume(delivery);
  const now = clock.now();
  const requestedMs = honorRetryAfter ? retryAfterMs(response?.headers, now) : 0;
  if (!schedule.retry(delivery, now, requestedMs)) schedule.finish(delivery, "failed");
}

/**
 * Returns the delay in milliseconds that Retry-After requests (RFC 9110, section 10.2.3). Returns 0 if it is absent,
 * invalid or in the past.
 */
function retryAfterMs(headers: HeaderList | undefined, now: number): number {
  const value = headers?.find(([name]) => name.toLowerCase() === "retry-after")?.[1]?.trim() ?? "";
  const ms = /^\d{1,9}$/.test(value) ? Number(value) * 1_000 : Date.parse(value) - now;
  return ms > 0 ? ms : 0;
}
