import { faultDelayMs, slotsLeft } from "../faults.js";
import type { DeliveryRecord, FaultRecord } from "../state/records.js";
import type { World } from "../world.js";
import type { Schedule } from "./schedule.js";

/** A delivery to attempt now, and the fault whose batch it was in, if any. */
export interface Released {
  readonly delivery: DeliveryRecord;
  readonly fault?: FaultRecord | undefined;
}

/**
 * Holds deliveries for the faults of kind `reorder`. Such a fault holds one delivery for each of its slots, and then
 * releases this batch one by one, newest first. Held deliveries are pending, so that a restart finds them again.
 */
export function createReorder({ state, clock, faults }: World, schedule: Schedule) {
  const releasing = new Set<string>();

  const isHeld = (delivery: DeliveryRecord, faultId: string) =>
    delivery.heldBy === faultId && state.deliveries.get(delivery.id) === delivery;

  const held = (faultId: string): readonly DeliveryRecord[] =>
    Array.from(state.deliveries.all())
      .filter(({ heldBy }) => heldBy === faultId)
      .toSorted((a, b) => b.seq - a.seq);

  /**
   * Yields the deliveries of a batch, full or not, newest first, and ends the fault. The caller makes the attempt of
   * each delivery before it requests the next.
   */
  function* release(faultId: string): Iterable<Released> {
    if (releasing.has(faultId)) return;
    releasing.add(faultId);
    try {
      const fault = state.faults.get(faultId);
      if (fault && slotsLeft(fault) > 0) faults.cancel(faultId);
      const batch = held(faultId);
      // The whole batch becomes due now. If the sandbox restarts during the release, it then makes the remaining
      // attempts immediately.
      for (const delivery of batch) schedule.makeDue(delivery);
      for (const delivery of batch) {
        if (!isHeld(delivery, faultId)) continue;
        schedule.endHold(delivery);
        yield { delivery, fault };
      }
    } finally {
      releasing.delete(faultId);
    }
  }

  return {
    held,
    release,
    /**
     * Returns the deliveries to attempt when `delivery` is due: none if a fault starts to hold it, the whole batch if
     * `delivery` was held or completes the batch, otherwise `delivery` alone.
     */
    next(delivery: DeliveryRecord): Iterable<Released> {
      if (delivery.heldBy !== undefined) return release(delivery.heldBy);
      const fault = faults.hold(delivery.endpointId, delivery.id);
      if (!fault) return [{ delivery }];
      schedule.hold(delivery, fault.id, clock.now() + faultDelayMs(fault));
      return slotsLeft(fault) > 0 ? [] : release(fault.id);
    },
  };
}
