import type { AttemptRecord, DeliveryState } from "./records.js";
import type { Kind, Tables } from "./table.js";

/** Whether the attempt was neither tampered with nor affected by a fault, so that it shows what the receiver does. */
export const isGenuine = ({ tamper, faultId }: AttemptRecord): boolean =>
  tamper === undefined && faultId === undefined;

type Records = Pick<Tables, "calls" | "sends" | "events" | "deliveries">;

/** Maintains facts that would otherwise require a scan of all records, and updates them with each change. */
export function createTally(records: Records) {
  const states = new Map<string, DeliveryState>();
  const deliveries = { pending: 0, attempting: 0, succeeded: 0, failed: 0 };
  const unsent = new Set<string>();
  const newest = new Map<string, { readonly id: string; readonly at: number }>();
  const revisions = new Map<string, number>();
  let revision = 0;

  const noteDelivery = (id: string) => {
    const delivery = records.deliveries.get(id);
    const before = states.get(id);
    if (before !== undefined) deliveries[before] -= 1;
    if (!delivery) {
      states.delete(id);
      for (const [endpoint, known] of newest) if (known.id === id) newest.delete(endpoint);
      return;
    }
    states.set(id, delivery.state);
    deliveries[delivery.state] += 1;
    const attempt = delivery.attempts.findLast(isGenuine);
    if (!attempt || attempt.startedAt < (newest.get(delivery.endpointId)?.at ?? 0)) return;
    newest.set(delivery.endpointId, { id, at: attempt.startedAt });
  };

  return {
    /** The number of deliveries in each state. */
    deliveries: deliveries as Readonly<typeof deliveries>,
    /** The number of events that went to no endpoint. */
    get notSent() {
      return unsent.size;
    },
    /**
     * For each endpoint, the delivery with the newest genuine attempt, and the time of that attempt. If that delivery
     * is dropped, the endpoint has no entry until another of its deliveries with a genuine attempt changes.
     */
    newest: newest as ReadonlyMap<string, { readonly id: string; readonly at: number }>,
    /** Returns a number that increases when a call, or something that it caused, changes. */
    revisionOf: (callId: string): number => revisions.get(callId) ?? 0,
    note(kind: Kind, id: string): void {
      if (kind === "delivery") noteDelivery(id);
      if (kind === "event") {
        if (records.events.get(id)?.notSent === undefined) unsent.delete(id);
        else unsent.add(id);
      }
      const call = callOf(records, kind, id);
      if (call === undefined) return;
      // All calls share one counter, so that a call that a rewind restores never gets a revision that it had before.
      if (records.calls.get(call)) revisions.set(call, (revision += 1));
      else revisions.delete(call);
    },
  };
}

export type Tally = Omit<ReturnType<typeof createTally>, "note">;

/** Returns the id of the timeline call that a record belongs to, or undefined if it belongs to none. */
export function callOf(records: Records, kind: Kind, id: string): string | undefined {
  switch (kind) {
    case "call":
      return id;
    case "send":
      return records.sends.get(id)?.callId;
    case "event":
      return records.events.get(id)?.callId;
    case "delivery":
      return records.deliveries.get(id)?.callId;
    case "domain":
    case "endpoint":
    case "fault":
    case "idempotency":
    case "setting":
    case "checkpoint":
      return undefined;
  }
}
