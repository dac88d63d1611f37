import type { Course } from "../assumptions/table.js";
import type { HeaderList } from "../network/transport.js";

/*
 * The sandbox's records. All times are epoch milliseconds on the sandbox's clock. Records are plain data: they are
 * written to the file as JSON, with bytes as base64.
 */

/** The id of the account that owns a record. All API keys share one account unless A-23 is `per-key`. */
export type AccountId = string;

/**
 * A body, or its first part if `truncated`. `bytes` is the length of the whole body, or a lower bound of it for a
 * truncated response of a receiver.
 */
export interface Captured {
  readonly content: Uint8Array;
  readonly bytes: number;
  readonly truncated: boolean;
}

/** A request to the interface, or an action that raises events, and its response. */
export interface CallRecord {
  readonly id: string;
  account: AccountId | undefined;
  readonly at: number;
  readonly method: string;
  readonly path: string;
  readonly idempotencyKey: string | undefined;
  /** The headers. API keys and signing secrets are masked in them, in the path and in the idempotency key. */
  readonly headers: HeaderList;
  body?: Captured;
  status: number;
  code?: string;
  /** The real milliseconds from the request to its response. */
  ms: number;
  /** Whether the response is that of an earlier call with the same idempotency key. */
  replayed?: boolean;
  /** Set if the client received no response because of a fault. */
  lost?: true;
  faultId?: string;
  /** Facts that the developer should know even though the call succeeded. */
  notes?: readonly string[];
  response?: { readonly headers: HeaderList; readonly body: Captured };
  sendId?: string;
  /** The ids of the source events that this call raised, oldest first. */
  readonly events: string[];
}

/** Whether a call is waiting for its response. A call whose response a fault withheld has the status 0 too. */
export const isRunning = ({ status, lost }: CallRecord): boolean => status === 0 && !lost;

export type SendStatus = "accepted" | "sent" | Course;

export interface SendRecord {
  /** The id, `send_…`. */
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
  /** The future statuses and their times, earliest first. */
  next: readonly { readonly status: SendStatus; readonly at: number }[];
}

export interface DomainRecord {
  /** The id, `dom_…`. */
  readonly id: string;
  readonly account: AccountId;
  readonly name: string;
  readonly createdAt: number;
  status: "pending" | "verified" | "failed";
  verifiedAt?: number;
}

export interface EndpointRecord {
  /** The id, `we_…`. */
  readonly id: string;
  readonly account: AccountId;
  readonly url: string;
  readonly eventTypes: readonly string[];
  readonly createdAt: number;
  /** The subscription ids, `sub_…`, by event type. The id under `*` is that of the whole endpoint. */
  readonly subscriptions: Readonly<Record<string, string>>;
  status: "active" | "archived";
  secret: string;
  /**
   * The secret before the last rotation. Under A-19 `deferred`, attempts before `until` are signed with it. If A-19 was
   * another value at the rotation, `until` is the time of the rotation.
   */
  previous?: { readonly secret: string; readonly until: number };
}

/** The reason why an event went to no endpoint. */
export type NotSent = "no_endpoint" | "type_not_subscribed" | "archived" | "not_emitted";

/** An event as it occurred. It has a delivery for each endpoint to which it goes, and one for each edited copy. */
export interface EventRecord {
  /** The id, `src_…`. */
  readonly id: string;
  readonly account: AccountId;
  readonly callId: string;
  readonly sendId?: string | undefined;
  readonly type: string;
  readonly at: number;
  notSent?: NotSent | undefined;
  readonly deliveries: string[];
}

export const deliveryStates = ["pending", "attempting", "succeeded", "failed"] as const;

export type DeliveryState = (typeof deliveryStates)[number];

/** An event on its way to one endpoint. Its body never changes. */
export interface DeliveryRecord {
  /** The initial delivery id, `dlv_…`. */
  readonly id: string;
  /** A number that increases with each new delivery. The list of deliveries uses it as its cursor. */
  readonly seq: number;
  readonly account: AccountId;
  readonly callId: string;
  readonly eventId: string;
  readonly sourceEventId: string;
  readonly endpointId: string;
  readonly subscriptionId: string;
  readonly type: string;
  readonly createdAt: number;
  /** The X-SVC-Delivery-Id. Differs from `id` after a redelivery under A-18 `fresh`. */
  deliveryId: string;
  state: DeliveryState;
  nextAttemptAt?: number | undefined;
  /** The reason for the scheduled attempt or, if none is scheduled, for the last one. */
  trigger: Trigger;
  /**
   * The time of the scheduled attempt that a redelivery interrupted. The schedule resumes there if the redelivery
   * fails.
   */
  resumeAt?: number | undefined;
  /** The id of the fault of kind `reorder` that holds the delivery until its batch is released. */
  heldBy?: string | undefined;
  /** The number of delays of the retry schedule that have been used. */
  retries: number;
  /** The X-SVC-Attempt of the last attempt, or 0 before the first. */
  attempt: number;
  /** The secret of the first attempt that was made under A-19 `pinned`. */
  pinnedSecret?: string | undefined;
  /** Whether the developer edited the body. */
  edited?: boolean | undefined;
  readonly body: Uint8Array;
  /** The last {@link mostAttempts} attempts, oldest first. */
  readonly attempts: AttemptRecord[];
}

/** Whether a delivery has an attempt that is scheduled or running. */
export const isOpen = ({ state }: DeliveryRecord): boolean =>
  state === "pending" || state === "attempting";

export const triggers = ["event", "retry", "redeliver", "manual"] as const;

export type Trigger = (typeof triggers)[number];

export const tampers = [
  "wrong_secret",
  "previous_secret",
  "flipped_byte",
  "missing_prefix",
  "missing_header",
  "duplicate_header",
  "reserialized",
] as const;

export type Tamper = (typeof tampers)[number];

/** The maximum number of lines of the receiver's log kept per attempt. The oldest are dropped first. */
export const mostLines = 20;

/** The maximum number of attempts kept per delivery. The oldest are dropped first. */
export const mostAttempts = 1_000;

/** One attempt of a delivery: the request and its result. */
export interface AttemptRecord {
  /**
   * The record's number among all records of the delivery, from 1, including dropped ones. A duplicated attempt has two
   * records.
   */
  readonly n: number;
  /** The value of X-SVC-Attempt. */
  readonly attempt: number;
  readonly trigger: Trigger;
  readonly startedAt: number;
  readonly url: string;
  readonly headers: HeaderList;
  /** The bytes that were sent, if tampering or a fault made them differ from the delivery's. */
  readonly body?: Uint8Array | undefined;
  readonly tamper?: Tamper | undefined;
  readonly faultId?: string | undefined;
  readonly ms: number;
  readonly ok: boolean;
  readonly response?:
    { readonly status: number; readonly headers: HeaderList; readonly body: Captured } | undefined;
  readonly error?: { readonly kind: string; readonly text: string } | undefined;
  /** The lines of the receiver's log about this attempt. */
  log?: readonly string[] | undefined;
}

/** The stored response for an idempotency key. */
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
  "reorder",
  "drop",
  "mutate",
] as const;

export type FaultKind = (typeof faultKinds)[number];

/** The results that a dropped delivery can have. */
export const dropResults = ["failed", "succeeded"] as const;

export interface FaultRecord {
  /** The id, `fault_…`. */
  readonly id: string;
  readonly target: string;
  readonly kind: FaultKind;
  readonly status?: number | undefined;
  readonly retryAfter?: number | undefined;
  readonly delayMs?: number | undefined;
  /** Kind `drop`: the result of the dropped delivery. */
  readonly result?: (typeof dropResults)[number] | undefined;
  /** Kind `mutate`: whether the changed body is signed again. */
  readonly signAgain?: boolean | undefined;
  /** One slot for each time that the fault applies. `usedBy` is the id of the call or delivery that used the slot. */
  readonly slots: { usedBy?: string }[];
  canceled?: boolean;
}
