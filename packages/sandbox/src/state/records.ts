import type { HeaderList } from "../network/transport.js";

/*
 * The sandbox's records. All times are epoch milliseconds on its own clock. Records are plain data:
 * they are written to the file as JSON, with bytes as base64.
 */

/** The owner of the data. All keys share one account unless A-23 separates them. */
export type AccountId = string;

/**
 * Bytes that may have been cut. `bytes` is the number that was received: the full length of a request, and a
 * lower bound of a truncated response.
 */
export interface Captured {
  readonly content: Uint8Array;
  readonly bytes: number;
  readonly truncated: boolean;
}

/** One request to the interface, and its response. */
export interface CallRecord {
  readonly id: string;
  account: AccountId | undefined;
  readonly at: number;
  readonly method: string;
  readonly path: string;
  readonly idempotencyKey: string | undefined;
  /** Headers; API keys are masked, as in the path and the idempotency key. */
  readonly headers: HeaderList;
  body?: Captured;
  status: number;
  code?: string;
  /** Real milliseconds from the request to its response. */
  ms: number;
  /** An earlier response was returned for the same idempotency key. */
  replayed?: boolean;
  /** A fault left it without a response. */
  lost?: true;
  faultId?: string;
  /** Facts that the developer should know although the call succeeded. */
  notes?: readonly string[];
  response?: { readonly headers: HeaderList; readonly body: Captured };
  sendId?: string;
  /** The source events that this call raised, oldest first. */
  readonly events: string[];
}

export type SendStatus = "accepted" | "sent" | "delivered" | "bounced" | "failed" | "delayed";

export interface SendRecord {
  /** `send_…` */
  readonly id: string;
  readonly account: AccountId;
  readonly callId: string;
  readonly emailId: string;
  readonly messageId: string;
  readonly subject: string;
  readonly from: string;
  readonly to: readonly string[];
  readonly html: string | undefined;
  readonly text: string | undefined;
  readonly messageClass: "transactional";
  readonly createdAt: number;
  status: SendStatus;
  readonly history: { readonly status: SendStatus; readonly at: number; readonly note?: string }[];
  /** The next statuses and their times, earliest first. */
  next: readonly { readonly status: SendStatus; readonly at: number }[];
}

export interface DomainRecord {
  /** `dom_…` */
  readonly id: string;
  readonly account: AccountId;
  readonly name: string;
  readonly createdAt: number;
  status: "pending" | "verified" | "failed";
  verifiedAt?: number;
}

export interface EndpointRecord {
  /** `we_…` */
  readonly id: string;
  readonly account: AccountId;
  readonly url: string;
  readonly eventTypes: readonly string[];
  readonly createdAt: number;
  /** `sub_…` by event type, and under `*` for the whole endpoint. */
  readonly subscriptions: Readonly<Record<string, string>>;
  status: "active" | "archived";
  secret: string;
  /** The secret before the last rotation, and the time until which attempts are signed with it. */
  previous?: { readonly secret: string; readonly until: number };
}

/** The reason that an event went to no endpoint. */
export type NotSent =
  "no_endpoint" | "type_not_subscribed" | "archived" | "url_refused" | "not_emitted";

/** Something that happened, before it is delivered to anybody. */
export interface EventRecord {
  /** `src_…` */
  readonly id: string;
  readonly account: AccountId;
  readonly callId: string;
  readonly sendId?: string | undefined;
  readonly type: string;
  readonly at: number;
  notSent?: NotSent | undefined;
  readonly deliveries: string[];
}

export type DeliveryState = "pending" | "attempting" | "succeeded" | "failed";

/** An event on its way to one endpoint. Its bytes never change. */
export interface DeliveryRecord {
  /** The delivery id at creation, `dlv_…`. */
  readonly id: string;
  /** Increases with each delivery; the cursor of lists. */
  readonly seq: number;
  readonly account: AccountId;
  readonly callId: string;
  readonly eventId: string;
  readonly sourceEventId: string;
  readonly endpointId: string;
  readonly subscriptionId: string;
  readonly type: string;
  readonly createdAt: number;
  /** X-SVC-Delivery-Id: another one than `id` after a redelivery under A-18 `fresh`. */
  deliveryId: string;
  state: DeliveryState;
  nextAttemptAt?: number | undefined;
  /** Why the next attempt is made. */
  trigger: Trigger;
  /** The scheduled retry that a redelivery interrupts, and continues when it fails. */
  resumeAt?: number | undefined;
  /** The number of entries of the retry schedule that have been used. */
  retries: number;
  /** X-SVC-Attempt of the last attempt. */
  attempt: number;
  /** The secret of the first attempt, under A-19 `pinned`. */
  pinnedSecret?: string | undefined;
  /** A person wrote its body. */
  edited?: boolean | undefined;
  readonly body: Uint8Array;
  /** The last {@link mostAttempts}, oldest first. */
  readonly attempts: AttemptRecord[];
}

export type Trigger = "event" | "retry" | "redeliver" | "manual";

export const tampers = [
  "wrong_secret",
  "previous_secret",
  "flipped_byte",
  "no_prefix",
  "missing",
  "duplicate_header",
  "reserialised",
] as const;

export type Tamper = (typeof tampers)[number];

/** Attempts of one delivery that are kept: the last ones. */
export const mostAttempts = 1_000;

/** One request of a delivery, and its result. */
export interface AttemptRecord {
  /** 1, 2, …: its place among all attempts that were made. */
  readonly n: number;
  /** X-SVC-Attempt. */
  readonly attempt: number;
  readonly trigger: Trigger;
  readonly startedAt: number;
  readonly url: string;
  readonly headers: HeaderList;
  /** The bytes that were sent, if they are not those of the delivery (tampered). */
  readonly body?: Uint8Array | undefined;
  readonly tamper?: Tamper | undefined;
  readonly faultId?: string | undefined;
  readonly ms: number;
  readonly ok: boolean;
  readonly response?:
    { readonly status: number; readonly headers: HeaderList; readonly body: Captured } | undefined;
  readonly error?: { readonly kind: string; readonly text: string } | undefined;
}

/** The response that an idempotency key returns. */
export interface IdempotencyRecord {
  /** A hash of the API key, the operation and the idempotency key. */
  readonly id: string;
  readonly fingerprint: string;
  readonly sendId: string;
  readonly expiresAt: number;
  readonly status: number;
  readonly body: string;
}

export const faultKinds = [
  "status",
  "response_lost",
  "refused",
  "timeout",
  "reset",
  "slow",
  "duplicate",
] as const;

export type FaultKind = (typeof faultKinds)[number];

export interface FaultRecord {
  /** `fault_…` */
  readonly id: string;
  readonly target: string;
  readonly kind: FaultKind;
  readonly status?: number | undefined;
  readonly retryAfter?: number | undefined;
  readonly delayMs?: number | undefined;
  /** One per use: the call or delivery that used it. */
  readonly slots: { usedBy?: string }[];
  cancelled?: boolean;
}
