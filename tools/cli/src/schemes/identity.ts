import type { Scheme } from "@svc-webhooks/core";
import { headerOf } from "../lib/delivery-headers.js";
import { eventTypeOf } from "../lib/event-type.js";
import { objectIn } from "../lib/json-in.js";
import type { Arrived } from "./arrived.js";

export interface Identity {
  readonly deliveryId?: string | undefined;
  readonly type?: string | undefined;
}

/**
 * Resolves to the delivery id and the event type of a request, without verifying its signature. A value that the scheme
 * does not find is undefined. If the scheme throws, both are undefined.
 */
export async function identityOf(
  scheme: Scheme,
  { headers, body: bytes }: Pick<Arrived, "headers" | "body">,
): Promise<Identity> {
  const header = (name: string) => headerOf(headers, name) ?? "";
  const body = objectIn(bytes);
  try {
    const identified = await scheme.identify({ body, bytes, header, claim: undefined });
    const event = identified.body ?? body;
    const type = scheme.eventType
      ? event && scheme.eventType(event, bytes, header)
      : eventTypeOf(bytes);
    return { deliveryId: identified.deliveryId || undefined, type: type || undefined };
  } catch {
    return {};
  }
}
