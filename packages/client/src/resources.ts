import type { MaskedSecret } from "./secret.js";

/*
 * What the interface document shows has the types that it states. What it leaves open has the form that
 * the sandbox assumes, and may have other fields and values: nothing here is checked at run time.
 */

/** One of the listed values, or another one that a later version of the service may use. */
export type Open<Known extends string> = Known | (string & {});

interface EmailFields {
  /** The sender: a bare address on a domain that has been added and verified. */
  readonly from: string;
  /** The recipients, at least one. */
  readonly to: readonly string[];
  /** At most 300 characters. */
  readonly subject: string;
  /** Default `transactional`, the only class that the service accepts. */
  readonly message_class?: "transactional" | undefined;
}

/** An email. It has `html`, `text` or both. */
export type EmailRequest = EmailFields &
  (
    | { readonly html: string; readonly text?: string | undefined }
    | { readonly html?: undefined; readonly text: string }
  );

/** The response to an email that was accepted for processing. */
export interface AcceptedSend {
  /** `msg_…` */
  readonly email_id: string;
  /** `msg_…` */
  readonly message_id: string;
  /** `send_…` */
  readonly send_id: string;
  readonly status: Open<"accepted">;
  readonly subject: string;
  readonly from: string;
  readonly recipients: { readonly to: readonly string[] };
  readonly message_class: Open<"transactional">;
  /** ISO 8601, UTC. */
  readonly created_at: string;
}

export type SendState = Open<"accepted" | "sent" | "delivered" | "bounced" | "failed" | "delayed">;

/** The status of a send. All but its id and status are assumed. */
export interface SendStatus extends Partial<Omit<AcceptedSend, "send_id" | "status">> {
  readonly send_id: string;
  readonly status: SendState;
  readonly updated_at?: string;
  /** Oldest first. */
  readonly history?: readonly {
    readonly status: SendState;
    readonly at: string;
    readonly note?: string;
  }[];
}

export interface DomainRequest {
  /** Such as `mail.example.com`. */
  readonly domain_name: string;
}

/** A sending domain (assumed, A-05). */
export interface Domain {
  /** `dom_…` */
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
  /** A public HTTPS URL. The sandbox accepts loopback addresses. */
  readonly url: string;
  /** At least one. `webhookEventTypes.list()` returns them all. */
  readonly event_types: readonly WebhookEventType["type"][];
}

export interface WebhookEndpoint {
  /** `we_…` */
  readonly webhook_endpoint_id: string;
  readonly url: string;
  readonly status: Open<"active" | "archived">;
  readonly event_types: readonly WebhookEventType["type"][];
}

/** An endpoint with its secret, which the service returns this once. */
export interface WebhookEndpointWithSecret {
  readonly webhook_endpoint: WebhookEndpoint;
  /** `secret.reveal()` is the text: store it now. */
  readonly secret: MaskedSecret;
}

/** Which deliveries to list. */
export interface WebhookEventQuery {
  /** Only the deliveries of this endpoint. */
  readonly webhook_endpoint_id?: string | undefined;
  /** Items per page, 1 to 100 (assumed, A-15). Default: the service's. */
  readonly limit?: number | undefined;
  /** The `next_cursor` of the page to start after. Default: the list starts with the newest delivery. */
  readonly after?: string | undefined;
}

/** A delivery of an event to an endpoint (assumed, A-08). */
export interface WebhookEvent {
  /** `evt_…`: the `X-SVC-Event-Id` of the delivery, and what `redeliver` takes. */
  readonly event_id: string;
  /** The same for all deliveries of one event. */
  readonly source_event_id: string;
  /** The `X-SVC-Delivery-Id`. */
  readonly delivery_id: string;
  readonly subscription_id: string;
  readonly webhook_endpoint_id: string;
  readonly type: WebhookEventType["type"];
  readonly status: Open<"pending" | "attempting" | "succeeded" | "failed">;
  /** Attempts that were made. */
  readonly attempts: number;
  readonly created_at: string;
  readonly next_attempt_at: string | null;
}
