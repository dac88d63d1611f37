import { lastTime } from "../lib/iso.js";
import type { DeliveryRecord, Trigger } from "../state/records.js";
import type { World } from "../world.js";

/** Determines the next attempt of each delivery, or its end. @param attempt makes the attempt that is due */
export function createSchedule(
  { state, clock }: World,
  attempt: (delivery: DeliveryRecord) => Promise<void>,
) {
  const scheduled = new Map<string, () => void>();

  /** Lets the clock make the attempt that the delivery waits for, and no other. */
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

  /** Makes the next attempt due at `at`. */
  const set = (delivery: DeliveryRecord, at: number, trigger: Trigger) => {
    delivery.state = "pending";
    delivery.nextAttemptAt = Math.min(at, lastTime);
    delivery.trigger = trigger;
    state.deliveries.put(delivery);
    arm(delivery);
  };

  /** Ends the delivery, by default with the result of its last attempt. */
  const finish = (delivery: DeliveryRecord, result = lastResult(delivery)) => {
    delivery.state = result;
    delivery.nextAttemptAt = undefined;
    delivery.resumeAt = undefined;
    state.deliveries.put(delivery);
    arm(delivery);
  };

  /** Continues the schedule that a redelivery has interrupted, if there is one. */
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

/** The result of the last attempt for its delivery. One attempt has two records if it was duplicated. */
export const lastResult = ({ attempts }: DeliveryRecord): "succeeded" | "failed" => {
  const last = attempts.at(-1)?.attempt;
  return attempts.some(({ attempt, ok }) => attempt === last && ok) ? "succeeded" : "failed";
};
