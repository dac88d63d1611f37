import { lastTime } from "../lib/iso.js";
import type { DeliveryRecord, Trigger } from "../state/records.js";
import type { World } from "../world.js";

/**
 * Moves deliveries from state to state, and schedules their next attempts on the clock. Other files write `state`,
 * `nextAttemptAt`, `trigger`, `retries`, `resumeAt` and `heldBy` only when they create a record. A delivery is in one
 * of these states:
 *
 * - **pending**: an attempt is scheduled for `nextAttemptAt`, for the reason in `trigger`. It is due → attempting.
 * - **pending and held**: `heldBy` is the id of the fault whose batch contains the delivery, and `nextAttemptAt` is the
 *   time at which the batch is released even if it is not full. `endHold` → pending, for the attempt that follows
 *   immediately.
 * - **pending for a redelivery**: `trigger` is `redeliver`, and `resumeAt` is the time of the scheduled attempt that
 *   the redelivery interrupted, if there was one. `resume` → pending at that time, or finished.
 * - **attempting**: a scheduled attempt is running; `nextAttemptAt` is not set. `retry` → pending, with one more delay
 *   of the retry schedule used (`retries`); `resume`; `finish`. A restart makes the attempt again.
 * - **succeeded** or **failed**: nothing is scheduled. `redeliver` → pending for a redelivery.
 *
 * A manual attempt changes the state only if it finishes the delivery, and never while the delivery is attempting.
 *
 * @param onDue makes the attempt that is due
 */
export function createSchedule(
  { state, clock, ledger }: World,
  onDue: (delivery: DeliveryRecord) => Promise<void>,
) {
  const scheduled = new Map<string, () => void>();

  /** Cancels the scheduled attempt on the clock, and schedules another if `nextAttemptAt` is set. */
  const arm = (delivery: DeliveryRecord) => {
    const { id, nextAttemptAt } = delivery;
    scheduled.get(id)?.();
    scheduled.delete(id);
    if (nextAttemptAt === undefined) return;
    const cancel = clock.at(nextAttemptAt, { kind: "attempt", id }, () => {
      scheduled.delete(id);
      return onDue(delivery);
    });
    scheduled.set(id, cancel);
  };

  /** Makes the delivery pending, with its next attempt at `at`. The trigger stays the same by default. */
  const set = (delivery: DeliveryRecord, at: number, trigger: Trigger = delivery.trigger) => {
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

  return {
    arm,
    set,
    finish,
    /** Changes the state to attempting. The attempt that follows saves the record. */
    begin(delivery: DeliveryRecord): void {
      delivery.state = "attempting";
      delivery.nextAttemptAt = undefined;
    },
    /**
     * Schedules a retry. Its time is `from` plus the next unused delay of the retry schedule, or plus `leastMs` if that
     * is longer. Returns false if no delay is left.
     */
    retry(delivery: DeliveryRecord, from: number, leastMs = 0): boolean {
      const delay = ledger.get("delivery.retry")[delivery.retries];
      if (delay === undefined) return false;
      delivery.retries += 1;
      delivery.heldBy = undefined;
      set(delivery, from + Math.max(delay, leastMs), "retry");
      return true;
    },
    /**
     * Schedules a redelivery now. Keeps the time of the attempt that it replaces, if any, in case the redelivery fails.
     */
    redeliver(delivery: DeliveryRecord): void {
      if (delivery.state === "pending" && delivery.trigger !== "redeliver")
        delivery.resumeAt = delivery.nextAttemptAt;
      set(delivery, clock.now(), "redeliver");
    },
    /** Resumes the schedule that a redelivery interrupted. Finishes the delivery if no attempt was scheduled. */
    resume(delivery: DeliveryRecord): void {
      const { resumeAt } = delivery;
      delivery.resumeAt = undefined;
      if (resumeAt === undefined) finish(delivery);
      else set(delivery, resumeAt, "retry");
    },
    /** Holds a delivery in the batch of a fault, until `at` at the latest. */
    hold(delivery: DeliveryRecord, faultId: string, at: number): void {
      delivery.heldBy = faultId;
      set(delivery, at);
    },
    /** Makes a held delivery due now, in case a restart interrupts the release of its batch. */
    makeDue(delivery: DeliveryRecord): void {
      delivery.nextAttemptAt = clock.now();
      state.deliveries.put(delivery);
    },
    /** Releases a held delivery. The attempt that follows saves the record. */
    endHold(delivery: DeliveryRecord): void {
      delivery.heldBy = undefined;
    },
    clear(): void {
      clock.clear();
      scheduled.clear();
    },
  };
}

/**
 * Returns the result of a delivery's last attempt, or `failed` if there is none. A duplicated attempt has two records,
 * and succeeded if one of them did.
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
