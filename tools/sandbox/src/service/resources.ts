import { attemptRange } from "../lib/attempt-range.js";
import { iso, isoTimes } from "../lib/iso.js";
import type { Ledger } from "../assumptions/ledger.js";
import {
  type DeliveryRecord,
  type DomainRecord,
  type EndpointRecord,
  type SendRecord,
} from "../state/records.js";

/* Records as the interface shows them. */

/** Returns the fields of an accepted send, by default with its current status. */
export const sendFields = (send: SendRecord, status: string = send.status) => ({
  email_id: send.emailId,
  message_id: send.messageId,
  send_id: send.id,
  status,
  subject: send.subject,
  from: send.from,
  recipients: { to: send.to },
  message_class: send.messageClass,
  created_at: iso(send.createdAt),
});

/** Returns the status resource of a send. */
export const sendStatusResource = (send: SendRecord, ledger: Ledger): object =>
  ledger.get("send.resource") === "minimal"
    ? { send_id: send.id, status: send.status }
    : {
        ...sendFields(send),
        updated_at: iso(
          send.history.findLast(({ note }) => note === undefined)?.at ?? send.createdAt,
        ),
        history: isoTimes(send.history),
      };

/** The fields of a domain that `domain.updated` reports. */
export const domainFields = ({ id, name, status }: DomainRecord) => ({
  domain_id: id,
  domain_name: name,
  status,
});

export const domainResource = (domain: DomainRecord) => ({
  ...domainFields(domain),
  created_at: iso(domain.createdAt),
  ...(domain.verifiedAt === undefined ? {} : { verified_at: iso(domain.verifiedAt) }),
});

export const endpointResource = ({ id, url, status, eventTypes }: EndpointRecord) => ({
  webhook_endpoint_id: id,
  url,
  status,
  event_types: eventTypes,
});

/** Returns an endpoint with its secret, for the two operations that create a secret. */
export const secretResource = (endpoint: EndpointRecord) => ({
  webhook_endpoint: endpointResource(endpoint),
  secret: endpoint.secret,
});

export const webhookEventResource = (delivery: DeliveryRecord): object => ({
  event_id: delivery.eventId,
  source_event_id: delivery.sourceEventId,
  delivery_id: delivery.deliveryId,
  subscription_id: delivery.subscriptionId,
  webhook_endpoint_id: delivery.endpointId,
  type: delivery.type,
  status: delivery.state,
  attempts: attemptRange(delivery.attempts).last,
  created_at: iso(delivery.createdAt),
  next_attempt_at: delivery.nextAttemptAt === undefined ? null : iso(delivery.nextAttemptAt),
});
