import type { HeaderList } from "../network/transport.js";
import type { AttemptRecord, DeliveryRecord } from "../state/records.js";
import type { World } from "../world.js";
import { isArchived, type Schedule } from "./schedule.js";

/** Returns the function that finishes a delivery after an attempt, or schedules its next attempt. */
export const createConclude =
  ({ state, ledger, clock }: World, { set, finish, afterRedelivery }: Schedule) =>
  (delivery: DeliveryRecord, { ok, response, error, trigger }: AttemptRecord): void => {
    const { stopCodes, honorRetryAfter } = ledger.get("delivery.success");
    if (ok) return finish(delivery, "succeeded");
    if (error?.kind === "dropped") return finish(delivery, "failed");
    const stops = response !== undefined && stopCodes.includes(response.status);
    if (stops || isArchived(state, delivery)) return finish(delivery, "failed");
    if (trigger === "redeliver") return afterRedelivery(delivery);
    const delay = ledger.get("delivery.retry")[delivery.retries];
    if (delay === undefined) return finish(delivery, "failed");
    delivery.retries += 1;
    const requested = honorRetryAfter ? retryAfterMs(response?.headers, clock.now()) : 0;
    set(delivery, clock.now() + Math.max(delay, requested), "retry");
  };

/** Returns the delay that a Retry-After header requests, in seconds or as a date (RFC 9110, section 10.2.3), or 0. */
function retryAfterMs(headers: HeaderList | undefined, now: number): number {
  const value = headers?.find(([name]) => name.toLowerCase() === "retry-after")?.[1]?.trim() ?? "";
  const ms = /^\d{1,9}$/.test(value) ? Number(value) * 1_000 : Date.parse(value) - now;
  return ms > 0 ? ms : 0;
}
