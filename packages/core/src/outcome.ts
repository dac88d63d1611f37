/** The HTTP status of each outcome. */
export const statuses = {
  processed: 200,
  ignored: 200,
  duplicate: 200,
  parked: 200,
  in_flight: 503,
  handler_timeout: 503,
  handler_failed: 500,
  event_invalid: 500,
  event_untyped: 500,
  store_unavailable: 503,
  body_unavailable: 500,
  misconfigured: 500,
  internal_error: 500,
  signature_missing: 401,
  signature_malformed: 401,
  signature_mismatch: 401,
  delivery_id_missing: 400,
  delivery_id_malformed: 400,
  malformed_body: 400,
  method_not_allowed: 405,
  body_too_large: 413,
  encoding_unsupported: 415,
  body_timeout: 408,
  draining: 503,
  // Nobody is left to see it; a proxy that answers for the client should make the sender try again.
  aborted: 503,
} as const;

/** How a delivery can end. The list is closed. */
export type OutcomeCode = keyof typeof statuses;

/** What deserves an operator's look although it changed nothing. The list is closed. */
export type Warning =
  /** `Idempotency-Key` differs from the delivery id. */
  | "id_mismatch"
  /** A duplicate came under another delivery id than the attempt that did the work. */
  | "other_delivery_id"
  /** The handler resolved but the store could not be told; a later attempt may run it again. */
  | "complete_failed"
  /** The handler outlived its lease; another run may have started. */
  | "lease_lost"
  /** Signed with another key than the first active one. */
  | "old_secret"
  /** The memory store dropped a record inside its retention. */
  | "evicted_early";

/** What is known of a delivery; what was not reached is absent. */
export interface DeliveryFacts {
  /** Epoch milliseconds. */
  readonly receivedAt: number;
  /** How many bytes the body has. */
  readonly bodyBytes?: number | undefined;
  /** Which signing secret matched; `"default"` for a single one. All below is absent until one did. Absent too where `resume` verified nothing. */
  readonly secretId?: string | undefined;
  /** `X-SVC-Delivery-Id`. Unsigned: whoever captured a delivery can change it. */
  readonly deliveryId?: string | undefined;
  /** `X-SVC-Subscription-Id`. Unsigned. */
  readonly subscriptionId?: string | undefined;
  /** `X-SVC-Attempt`, the sender's count, where it is 1 to 9 digits. Unsigned; for diagnostics, not for decisions. */
  readonly attempt?: number | undefined;
  /** The event's type, from the signed body. */
  readonly type?: string | undefined;
  /** The event's id: see `eventIdSigned`. */
  readonly eventId?: string | undefined;
  /** True if `eventId` comes from the signed body (option `eventId`), false if from the unsigned `X-SVC-Event-Id`. */
  readonly eventIdSigned?: boolean | undefined;
  /** Our count: 1 for the first start of a handler for this record. Unknown when `dedupe` is `unverified`. */
  readonly run?: number | undefined;
  /** A number that only grows from run to run of this record: let a database refuse writes with a smaller one. */
  readonly fence?: number | undefined;
  /** `verified` once the store has granted a claim; `unverified` where a handler runs without one (`onStoreError: "process"`). */
  readonly dedupe?: "verified" | "unverified" | undefined;
  readonly warnings: readonly Warning[];
}

/** How one delivery ended: a discriminated union by `code`. `answer(outcome)` turns it into HTTP. */
export type Outcome = {
  readonly [Code in OutcomeCode]: DeliveryFacts & {
    readonly code: Code;
    /** The HTTP status that belongs to the code. */
    readonly status: (typeof statuses)[Code];
    /** When the sender should try again, in milliseconds from now. */
    readonly retryAfterMs?: number | undefined;
  };
}[OutcomeCode];

/** An HTTP answer as every framework can send it. */
export interface Answer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/**
 * Stage 7, and the one way from an outcome to HTTP. Pure: adapters copy the result as it is.
 * Nothing of the payload, a key, a digest or a handler's error gets in.
 */
export function answer({ code, status, retryAfterMs }: Outcome): Answer {
  const headers: Record<string, string> = {
    "Content-Type": "application/json",
    "Cache-Control": "no-store",
  };
  if (retryAfterMs !== undefined) headers["Retry-After"] = retryAfter(retryAfterMs);
  if (code === "method_not_allowed") headers["Allow"] = "POST";
  // Required with every 401 (RFC 9110, section 15.5.2).
  if (status === 401) headers["WWW-Authenticate"] = "SVC-Signature";
  const content =
    status === 200 ? { status: code } : { error: { code, message: code.replaceAll("_", " ") } };
  return { status, headers, body: JSON.stringify(content) };
}

/** Whole seconds, 1 … 86,400 (RFC 9110, section 10.2.3). */
const retryAfter = (ms: number) => String(Math.min(Math.max(Math.ceil(ms / 1000) || 1, 1), 86_400));
