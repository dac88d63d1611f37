import { recordKey } from "../claim/record-key.js";
import type { ForgetTarget } from "../delivery.js";
import { isBytes } from "../lib/bytes.js";
import { isFilled } from "../lib/text.js";
import type { Config } from "../setup/config.js";
import { assertOption } from "../texts/assert.js";
import { parseBody } from "../pipeline/decode.js";
import { headerLookup } from "../pipeline/header-lookup.js";

/** Returns the key of the record that an operator's target identifies. */
export async function targetKey(config: Config, target: ForgetTarget): Promise<string> {
  // JavaScript callers may pass anything, even undefined.
  const {
    deliveryId,
    body: bytes = new Uint8Array(),
    headers = {},
  } = Object(target) as ForgetTarget;
  const { dedupeBy } = config;
  assertOption(isFilled(deliveryId), "invalid_option", "deliveryId", deliveryId);
  const body = dedupeBy === "event" ? parseBody(bytes) : undefined;
  const type = body && config.eventType(body, bytes, headerLookup(headers));
  const eventId = body && config.eventId(body, bytes);
  assertOption(
    isBytes(bytes) &&
      (dedupeBy !== "body" || bytes.length > 0) &&
      (dedupeBy !== "event" || (isFilled(type) && isFilled(eventId))),
    "invalid_option",
    "body",
    bytes,
  );
  return (await recordKey(config, { deliveryId, type, eventId, bytes })).key;
}
