import { lastTime } from "../lib/iso.js";
import type { DeliveryRecord, Trigger } from "../state/records.js";
import type { World } from "../world.js";

/**
 * Schedules the next attempt of each delivery, or finishes the delivery. @param attempt makes the attempt that is due
 */
export function createSchedule(
  { state, clock }: World,
  attempt: (delivery: DeliveryRecord) => Promise<void>,
) {
  const scheduled = new Map<string, () => void>();

  /** Schedules the delivery's next attempt on the clock, in place of any earlier one. */
  const arm = (delivery: DeliveryRecord) => {
    const { id, nextAttemptAt } = delivery;
    scheduled.get(id)?.();
    scheduled.delete(id);
    if (nextAttemptAt === undefined) return;
    const cancel = clock.at(nextAttemptAt, { kind: "attempt", id }, () => {
      scheduled.delete(id);
      return attempt(delivery);
    });
    scheduled.set(id, cancel);
  };

  /** Schedules the next attempt for `at`. */
  const set = (delivery: DeliveryRecord, at: number, trigger: Trigger) => {
    delivery.state = "pending";
    delivery.nextAttemptAt = Math.min(at, lastTime);
    delivery.trigger = trigger;
    state.deliveries.put(delivery);
    arm(delivery);
  };

  /** Finishes the delivery, by default with the result of its last attempt. */
  const finish = (delivery: DeliveryRecord, result = lastResult(delivery)) => {
    delivery.state = result;
    delivery.nextAttemptAt = undefined;
    delivery.resumeAt = undefined;
    delivery.heldBy = undefined;
    state.deliveries.put(delivery);
    arm(delivery);
  };

  /** Resumes the schedule that a redelivery interrupted. Finishes the delivery if there is none. */
  const afterRedelivery = (delivery: DeliveryRecord) => {
    const { resumeAt } = delivery;
    delivery.resumeAt = undefined;
    if (resumeAt === undefined) finish(delivery);
    else set(delivery, resumeAt, "retry");
  };

  return {
    arm,
    set,
    finish,
    afterRedelivery,
    clear() {
      clock.clear();
      scheduled.clear();
    },
  };
}

/**
 * Returns the result of a delivery's last attempt. A duplicated attempt has two records, one of which must have
 * succeeded.
 */
export const lastResult = ({ attempts }: DeliveryRecord): "succeeded" | "failed" => {
  const last = attempts.at(-1)?.attempt;
  return attempts.some(({ attempt, ok }) => attempt === last && ok) ? "succeeded" : "failed";
};

export const isArchived = (
  { endpoints }: World["state"],
  { endpointId }: DeliveryRecord,
): boolean => endpoints.get(endpointId)?.status !== "active";

export type Schedule = ReturnType<typeof createSchedule>;
