import { faultDelayMs, slotsLeft } from "../faults.js";
import type { DeliveryRecord, FaultRecord } from "../state/records.js";
import type { World } from "../world.js";

interface Attempting {
  /** Schedules the delivery for `at`, for the same reason as before. */
  readonly postpone: (delivery: DeliveryRecord, at: number) => void;
  /** Makes the delivery's next attempt now. */
  readonly attempt: (delivery: DeliveryRecord, fault: FaultRecord | undefined) => Promise<void>;
}

/**
 * Holds deliveries for the faults of kind `reorder`. Such a fault holds one delivery per slot, and then releases the
 * batch one after another, the last first. Held deliveries are pending, so a restart finds them again.
 */
export function createReorder({ state, clock, faults }: World, { postpone, attempt }: Attempting) {
  const releasing = new Set<string>();

  const isHeld = (delivery: DeliveryRecord, faultId: string) =>
    delivery.heldBy === faultId && state.deliveries.get(delivery.id) === delivery;

  const held = (faultId: string): readonly DeliveryRecord[] =>
    Array.from(state.deliveries.all())
      .filter(({ heldBy }) => heldBy === faultId)
      .toSorted((a, b) => b.seq - a.seq);

  /** Releases a batch, full or not. The fault then holds no more deliveries. */
  const release = async (faultId: string): Promise<void> => {
    if (releasing.has(faultId)) return;
    releasing.add(faultId);
    try {
      const fault = state.faults.get(faultId);
      if (fault && slotsLeft(fault) > 0) faults.cancel(faultId);
      const batch = held(faultId);
      // After a restart, the rest of the batch is due immediately.
      for (const delivery of batch) {
        delivery.nextAttemptAt = clock.now();
        state.deliveries.put(delivery);
      }
      for (const delivery of batch) {
        if (!isHeld(delivery, faultId)) continue;
        delivery.heldBy = undefined;
        await attempt(delivery, fault);
      }
    } finally {
      releasing.delete(faultId);
    }
  };

  return {
    held,
    release,
    /** Holds a delivery that is due, or releases its batch. Returns undefined if no fault of this kind applies. */
    apply(delivery: DeliveryRecord): Promise<void> | undefined {
      if (delivery.heldBy !== undefined) return release(delivery.heldBy);
      const fault = faults.hold(delivery.endpointId, delivery.id);
      if (!fault) return undefined;
      delivery.heldBy = fault.id;
      postpone(delivery, clock.now() + faultDelayMs(fault));
      return slotsLeft(fault) > 0 ? Promise.resolve() : release(fault.id);
    },
  };
}
