import { check } from "./check.js";
import type { Config } from "./config.js";
import { findKey, identify } from "./identity.js";
import { decode } from "./pipeline/decode.js";
import { withDeadline } from "./promise.js";
import { isBytes } from "./bytes.js";
import { isFilled } from "./text.js";
import { Visit } from "./visit.js";

/** Names the record of a delivery. */
export interface ForgetTarget {
  readonly deliveryId: string;
  /** The exact bytes of the body; needed where the record's key comes from it: with `dedupeBy` `"event"` or `"body"`. */
  readonly body?: Uint8Array | undefined;
}

/** Takes the record of a delivery out of the store. */
export async function forget(
  config: Config,
  { deliveryId, body = new Uint8Array() }: ForgetTarget,
): Promise<boolean> {
  const { dedupeBy } = config;
  check(isFilled(deliveryId), "deliveryId", "a delivery id");
  const visit = new Visit(config, { method: "POST", headers: {}, body }, () => {});
  visit.header = () => "";
  visit.bytes = body;
  visit.context.deliveryId = deliveryId;
  check(
    isBytes(body) &&
      (dedupeBy !== "body" || body.length > 0) &&
      (dedupeBy !== "event" || !(decode(visit) ?? (await identify(visit)))),
    "body",
    "the bytes received",
  );
  await findKey(visit);
  return withDeadline(config.clock, config.storeTimeouts.release, "store.forget", (call) =>
    config.store.forget(visit.key, call),
  );
}
