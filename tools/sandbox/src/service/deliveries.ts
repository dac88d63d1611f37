import { invalid, notFound } from "../errors.js";
import type { AccountId, DeliveryRecord } from "../state/records.js";
import type { World } from "../world.js";
import type { Service } from "./service.js";

/**
 * Returns the deliveries of an account to an endpoint, newest first. An undefined account or endpoint matches all. With
 * the cursor `after`, returns only deliveries that are older than the cursor.
 */
export function listDeliveries(
  { state }: World,
  account: AccountId | undefined,
  {
    endpointId,
    after,
  }: { readonly endpointId: string | undefined; readonly after: string | undefined },
): readonly DeliveryRecord[] {
  const before = after === undefined ? Infinity : Number.parseInt(after, 36);
  return Array.from(state.deliveries.all())
    .filter(
      (delivery) =>
        (account === undefined || delivery.account === account) &&
        delivery.seq < before &&
        (endpointId === undefined || delivery.endpointId === endpointId),
    )
    .toReversed();
}

/** Returns the cursor with which {@link listDeliveries} continues after a delivery. */
export const cursorOf = ({ seq }: DeliveryRecord): string => seq.toString(36);

/**
 * Finds an event's delivery. If the event went to several endpoints, `endpointId` selects the delivery.
 *
 * @throws ApiError 404, 400 if the event went to several endpoints and none is named
 */
export function findByEvent(
  { state }: Service,
  account: AccountId,
  eventId: string | undefined,
  endpointId: string | undefined,
): DeliveryRecord {
  const named = Array.from(state.deliveries.all()).filter(
    (delivery) => delivery.eventId === eventId && delivery.account === account,
  );
  const [delivery, ...more] = named.filter(
    (candidate) => endpointId === undefined || candidate.endpointId === endpointId,
  );
  if (!delivery) {
    const event = `webhook event ${eventId}`;
    throw named.length > 0
      ? notFound(
          "webhook_endpoint_id",
          `The ${event} has no delivery to the endpoint ${endpointId}.`,
        )
      : notFound("event_id", `There is no ${event}.`);
  }
  if (more.length > 0) {
    throw invalid(
      "webhook_endpoint_id",
      "This event went to several endpoints (A-27). Add ?webhook_endpoint_id= to choose one.",
    );
  }
  return delivery;
}
