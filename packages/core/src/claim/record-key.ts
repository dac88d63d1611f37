import { fingerprint } from "#hmac";
import { andThen } from "../lib/maybe-promise.js";
import type { Config } from "../setup/config.js";
import type { MaybePromise } from "../store.js";

/** The parts of a delivery from which a record's key may be derived. */
export interface Identity {
  readonly deliveryId: string;
  readonly type: string | undefined;
  readonly eventId: string | undefined;
  readonly bytes: Uint8Array;
}

export interface RecordKey {
  readonly key: string;
  /** A hash of the delivery id, if deliveries with different ids can share the record. */
  readonly lineage: string | undefined;
}

// Senders choose these texts, so they are hashed to a fixed length. The name's length marks where the name ends, so
// that different pairs of name and id never result in the same text.
const hashed = (name: string, by: string, id: string) =>
  fingerprint(`${by} ${name.length} ${name} ${id}`);

/** Returns the key of a delivery's record, and its lineage. */
export function recordKey(
  { name, dedupeBy }: Pick<Config, "name" | "dedupeBy">,
  { deliveryId, type, eventId, bytes }: Identity,
): MaybePromise<RecordKey> {
  return andThen(hashed(name, "delivery", deliveryId), (lineage) => {
    if (dedupeBy === "delivery") return { key: lineage, lineage: undefined };
    const identity = dedupeBy === "body" ? fingerprint(bytes) : JSON.stringify([type, eventId]);
    return andThen(
      andThen(identity, (id) => hashed(name, dedupeBy, id)),
      (key) => ({ key, lineage }),
    );
  });
}
