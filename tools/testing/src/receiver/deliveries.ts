import type { SecretKey } from "@svc-webhooks/core";
import { assertValid, headerNames } from "@svc-webhooks/core/adapter";
import type { SenderName } from "@svc-webhooks/schemes/senders";
import { completedEvent } from "../scheme-delivery.js";
import type { SignedDelivery } from "../delivery.js";
import { signedDelivery } from "../signed-delivery.js";

/** The properties of a delivery that a case needs. */
export interface Wanted {
  /** The event, as the service sends it. Text becomes the body unchanged. */
  readonly event: unknown;
  readonly eventId: string;
  /** Headers that are added to the sender's, or that replace them. Undefined omits a header. */
  readonly headers?: Readonly<Record<string, string | undefined>> | undefined;
  /** Changes the JSON of the event before it is signed. */
  readonly change?: ((json: string) => string) | undefined;
}

const unchanged = (json: string) => json;

/** Creates a delivery of the service, with all headers of the interface document. */
export const byService = (
  secret: SecretKey,
  { event, eventId, headers, change }: Wanted,
): Promise<SignedDelivery> =>
  signedDelivery(change ? change(JSON.stringify(event)) : event, {
    secret,
    headers: {
      [headerNames.eventId]: eventId,
      [headerNames.subscriptionId]: "sub_1",
      ...headers,
    },
  });

/**
 * Creates a delivery of another sender. Its body also has the members of the service's event, except `type`, which each
 * sender puts in a place of its own.
 */
export function byScheme(
  scheme: SenderName,
  secret: SecretKey,
  { event, eventId, headers, change = unchanged }: Wanted,
): Promise<SignedDelivery> {
  assertValid(typeof secret === "string", "secret", "`secret` must be a string.");
  if (typeof event === "string") return signedDelivery(event, { scheme, secret, headers });
  const { type, ...members } = event as { readonly type: string };
  const values = { scheme, type, at: Date.now(), deliveryId: eventId };
  const json = JSON.stringify(completedEvent(members, values));
  return signedDelivery(change(json), { ...values, secret, headers });
}
