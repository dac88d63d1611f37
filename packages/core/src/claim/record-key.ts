import { fingerprint } from "#hmac";
import { andThen } from "../lib/maybe-promise.js";
import type { Config } from "../setup/config.js";
import type { MaybePromise } from "../store.js";
import type { Claim } from "./claim.js";

/** What can name a record. */
export interface Identity {
  readonly deliveryId: string;
  readonly type: string | undefined;
  readonly eventId: string | undefined;
  readonly bytes: Uint8Array;
}

/** Which record a delivery belongs to, and its lineage where several can share that record. */
export function recordKey(
  { name, dedupeBy }: Pick<Config, "name" | "dedupeBy">,
  { deliveryId, type, eventId, bytes }: Identity,
): MaybePromise<Pick<Claim, "key" | "lineage">> {
  // Senders choose these texts, so they are hashed. The length of the name keeps it separate from the rest.
  const hashed = (by: string, what: string) => fingerprint(`${by} ${name.length} ${name} ${what}`);

  return andThen(hashed("delivery", deliveryId), (lineage) => {
    if (dedupeBy === "delivery") return { key: lineage, lineage: undefined };
    const same = dedupeBy === "body" ? fingerprint(bytes) : JSON.stringify([type, eventId]);
    return andThen(
      andThen(same, (what) => hashed(dedupeBy, what)),
      (key) => ({ key, lineage }),
    );
  });
}
