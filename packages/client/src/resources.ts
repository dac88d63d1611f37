import type { MaskedSecret } from "./secret.js";

/*
 * Fields in the interface document have the types that it states. All others have the form that the sandbox assumes.
 * These types are not checked at run time: the service may send other fields and values.
 */

/** One of the listed values, or another one that a later version of the service may use. */
export type Open<Known extends string> = Known | (string & {});

interface EmailFields {
  /** The sender: a bare address on a domain that has been added and verified. */
  readonly from: string;
  /** The recipients, at least one. */
  readonly to: readonly string[];
  /** The subject, at most 300 characters. */
  readonly subject: string;
  /** The class of the message. Default `transactional`, the only one that the service accepts. */
  readonly message_class?: "transactional" | undefined;
}

/** An email with `html`, `text` or both. */
export type EmailRequest = EmailFields &
  (
    | { readonly html: string; readonly text?: string | undefined }
    | { readonly html?: undefined; readonly text: string }
  );

/** The response to an email that was accepted for processing. */
export interface AcceptedSend {
  /** The id of the email: `msg_…`. */
  readonly email_id: string;
  /** The id of the message: `msg_…`. */
  readonly message_id: string;
  /** The id of the send: `send_…`. */
  readonly send_id: string;
  readonly status: Open<"accepted">;
  readonly subject: string;
  readonly from: string;
  readonly recipients: { readonly to: readonly string[] };
  readonly message_class: Open<"transactional">;
  /** The time of creation, ISO 8601 in UTC. */
  readonly created_at: string;
}

export type SendState = Open<"accepted" | "sent" | "delivered" | "bounced" | "failed" | "delayed">;

/** The status of a send. All members except its id and status are assumed. */
export interface SendStatus extends Partial<Omit<AcceptedSend, "send_id" | "status">> {
  readonly send_id: string;
  readonly status: SendState;
  readonly updated_at?: string;
  /** The earlier statuses, oldest first. */
  readonly history?: readonly {
    readonly status: SendState;
    readonly at: string;
    readonly note?: string;
  }[];
}

export interface DomainRequest {
  /** The name, such as `mail.example.com`. */
  readonly domain_name: string;
}

/** A sending domain (assumed, A-05). */
export interface Domain {
  /** The id of the domain: `dom_…`. */
  readonly domain_id: string;
  readonly domain_name: string;
  readonly status: Open<"pending" | "verified" | "failed">;
  readonly created_at: string;
  readonly verified_at?: string;
}

/** A type that endpoints can subscribe to (assumed, A-03). */
export interface WebhookEventType {
  readonly type: Open<"email.sent" | "email.delivered" | "domain.updated">;
  readonly description: string;
}

export interface WebhookEndpointRequest {
  /** The URL, which must be public and use HTTPS. The sandbox accepts loopback addresses too. */
  readonly url: string;
  /** The types to subscribe to, at least one. `webhookEventTypes.list()` returns them all. */
  readonly event_types: readonly WebhookEventType["type"][];
}

export interface WebhookEndpoint {
  /** The id of the endpoint: `we_…`. */
  readonly webhook_endpoint_id: string;
  readonly url: string;
  readonly status: Open<"active" | "archived">;
  readonly event_types: readonly WebhookEventType["type"][];
}

/** An endpoint with its secret, which the service returns only once. */
export interface WebhookEndpointWithSecret {
  readonly webhook_endpoint: WebhookEndpoint;
  /** The secret. Store `secret.reveal()` immediately. */
  readonly secret: MaskedSecret;
}

/** The query of a list of deliveries: a filter, and the page. */
export interface WebhookEventQuery {
  /** The endpoint of the deliveries. Default: all. */
  readonly webhook_endpoint_id?: string | undefined;
  /** The number of items per page, 1 to 100 (assumed, A-15). Default: the service's. */
  readonly limit?: number | undefined;
  /** The `next_cursor` of a page: the list starts after this page. Default: it starts with the newest delivery. */
  readonly after?: string | undefined;
}

/** A delivery of an event to an endpoint (assumed, A-08). */
export interface WebhookEvent {
  /** The value of the delivery's `X-SVC-Event-Id` header: `evt_…`. Pass it to `redeliver`. */
  readonly event_id: string;
  /** The id of the event, the same for all its deliveries. */
  readonly source_event_id: string;
  /** The value of the delivery's `X-SVC-Delivery-Id` header. */
  readonly delivery_id: string;
  readonly subscription_id: string;
  readonly webhook_endpoint_id: string;
  readonly type: WebhookEventType["type"];
  readonly status: Open<"pending" | "attempting" | "succeeded" | "failed">;
  /** The number of attempts that were made. */
  readonly attempts: number;
  readonly created_at: string;
  readonly next_attempt_at: string | null;
}
