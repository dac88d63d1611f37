import { isBytes } from "./bytes.js";
import { check } from "./check.js";
import { recordKey } from "./claim/record-key.js";
import type { Config } from "./config.js";
import { parseBody } from "./pipeline/decode.js";
import { withDeadline } from "./promise.js";
import { isFilled } from "./text.js";

/** Names the record of a delivery. */
export interface ForgetTarget {
  readonly deliveryId: string;
  /** The exact bytes of the body; needed where the record's key comes from it: with `dedupeBy` `"event"` or `"body"`. */
  readonly body?: Uint8Array | undefined;
}

/** Takes the record of a delivery out of the store. */
export async function forget(
  config: Config,
  { deliveryId, body: bytes = new Uint8Array() }: ForgetTarget,
): Promise<boolean> {
  const { clock, store, storeTimeouts, dedupeBy } = config;
  check(isFilled(deliveryId), "deliveryId", "a delivery id");
  const body = dedupeBy === "event" ? parseBody(bytes) : undefined;
  const type = body && config.eventType(body, bytes);
  const eventId = body && config.eventId(body, bytes);
  check(
    isBytes(bytes) &&
      (dedupeBy !== "body" || bytes.length > 0) &&
      (dedupeBy !== "event" || (isFilled(type) && isFilled(eventId))),
    "body",
    "the bytes received",
  );
  const { key } = await recordKey(config, { deliveryId, type, eventId, bytes });
  return withDeadline(clock, storeTimeouts.release, "store.forget", (call) =>
    store.forget(key, call),
  );
}
