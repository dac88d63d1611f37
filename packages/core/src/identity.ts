import { fingerprint } from "#hmac";
import { headerNames } from "./headers.js";
import { endWith, type Ending } from "./outcome.js";
import { andThen, type MaybePromise } from "./promise.js";
import { isFilled } from "./text.js";
import type { Visit } from "./visit.js";

/** Finds the event's id and the record that the delivery belongs to. */
export function identify(visit: Visit): MaybePromise<Ending | undefined> {
  const { context, config } = visit;
  const signedId: unknown = config.eventId(visit.body);
  const signed = isFilled(signedId);
  context.eventIdSigned = signed;
  context.eventId = signed ? signedId : visit.header(headerNames.eventId) || undefined;
  if (config.dedupeBy === "event" && !signed) {
    return endWith("misconfigured", "eventId finds no id");
  }
  return findKey(visit);
}

/** Sets the record's key, from what is known of the delivery. */
export function findKey(visit: Visit): MaybePromise<undefined> {
  const { context, bytes } = visit;
  const { name, dedupeBy } = visit.config;
  // Senders choose these texts, so they are hashed. The length of the name keeps it apart from the rest.
  const hashed = (by: string, what: string) => fingerprint(`${by} ${name.length} ${name} ${what}`);

  return andThen(hashed("delivery", context.deliveryId as string), (key) => {
    visit.key = key;
    if (dedupeBy === "delivery") return undefined;
    visit.lineage = key;
    const same =
      dedupeBy === "body" ? fingerprint(bytes) : JSON.stringify([context.type, context.eventId]);
    return andThen(
      andThen(same, (what) => hashed(dedupeBy, what)),
      (shared) => void (visit.key = shared),
    );
  });
}
