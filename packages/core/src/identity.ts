import { fingerprint } from "#hmac";
import { utf8 } from "./bytes.js";
import { headerNames } from "./headers.js";
import { endWith, type Ending } from "./outcome.js";
import { isFilled } from "./text.js";
import type { Visit } from "./visit.js";

/** Finds the event's id and the record that the delivery belongs to. */
export async function identify(visit: Visit): Promise<Ending | undefined> {
  const { facts, config } = visit;
  const signedId: unknown = config.eventId(visit.body);
  const signed = isFilled(signedId);
  facts.eventIdSigned = signed;
  facts.eventId = signed ? signedId : visit.header(headerNames.eventId) || undefined;
  if (config.dedupeBy === "event" && !signed) {
    return endWith("misconfigured", "eventId finds no id");
  }
  await findKey(visit);
  return undefined;
}

/** Sets the record's key, from what is known of the delivery. */
export async function findKey(visit: Visit): Promise<void> {
  const { facts } = visit;
  const { name, dedupeBy } = visit.config;
  visit.key = await hashed(name, "delivery", facts.deliveryId);
  if (dedupeBy !== "delivery") {
    visit.lineage = visit.key;
    const same = dedupeBy === "body" ? await fingerprint(visit.bytes) : [facts.type, facts.eventId];
    visit.key = await hashed(name, dedupeBy, same);
  }
}

/** Senders choose these strings, so they are hashed; as JSON, which keeps their borders apart. */
const hashed = (...parts: unknown[]) => fingerprint(utf8(JSON.stringify(parts)));
