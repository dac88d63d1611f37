import { faultDelayMs, slotsLeft } from "../faults.js";
import type { DeliveryRecord, FaultRecord } from "../state/records.js";
import type { World } from "../world.js";
import type { Schedule } from "./schedule.js";

/** A delivery that is due for an attempt, and the fault whose batch it was in. */
export interface Released {
  readonly delivery: DeliveryRecord;
  readonly fault?: FaultRecord | undefined;
}

/**
 * Holds deliveries for the faults of kind `reorder`. Such a fault holds one delivery per slot, and then releases the
 * batch one after another, the last first. Held deliveries are pending, so a restart finds them again.
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
   * Yields the deliveries of a batch, full or not, each when the attempt of the one before it has ended. The fault then
   * holds no more deliveries.
   */
  function* release(faultId: string): Iterable<Released> {
    if (releasing.has(faultId)) return;
    releasing.add(faultId);
    try {
      const fault = state.faults.get(faultId);
      if (fault && slotsLeft(fault) > 0) faults.cancel(faultId);
      const batch = held(faultId);
      // After a restart, the rest of the batch is due immediately.
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
     * Returns the deliveries to attempt now that this one is due: itself, or the batch that it was held in or that it
     * makes full, or none if a fault holds it.
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
