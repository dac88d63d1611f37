import { fingerprint } from "#hmac";
import { andThen } from "../lib/maybe-promise.js";
import type { Config } from "../setup/config.js";
import type { MaybePromise } from "../store.js";
import type { Claim } from "./store-call.js";

/** The parts of a delivery from which a record's key may be derived. */
export interface Identity {
  readonly deliveryId: string;
  readonly type: string | undefined;
  readonly eventId: string | undefined;
  readonly bytes: Uint8Array;
}

/** Returns the key of a delivery's record, and the lineage if deliveries with different ids can share the record. */
export function recordKey(
  { name, dedupeBy }: Pick<Config, "name" | "dedupeBy">,
  { deliveryId, type, eventId, bytes }: Identity,
): MaybePromise<Pick<Claim, "key" | "lineage">> {
  // Senders choose these texts, so they are hashed to a fixed length. The name's length marks where the name ends, so
  // that different pairs of name and id never result in the same text.
  const hashed = (by: string, id: string) => fingerprint(`${by} ${name.length} ${name} ${id}`);

  return andThen(hashed("delivery", deliveryId), (lineage) => {
    if (dedupeBy === "delivery") return { key: lineage, lineage: undefined };
    const identity = dedupeBy === "body" ? fingerprint(bytes) : JSON.stringify([type, eventId]);
    return andThen(
      andThen(identity, (id) => hashed(dedupeBy, id)),
      (key) => ({ key, lineage }),
    );
  });
}
