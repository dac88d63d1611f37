/** The HTTP status of each outcome. */
export const statuses = {
  processed: 200,
  enqueued: 200,
  ignored: 200,
  duplicate: 200,
  parked: 200,
  handshake: 200,
  in_flight: 503,
  handler_timeout: 503,
  handler_failed: 500,
  event_invalid: 500,
  event_untyped: 500,
  store_unavailable: 503,
  queue_unavailable: 503,
  body_unavailable: 500,
  misconfigured: 500,
  internal_error: 500,
  signature_missing: 401,
  signature_malformed: 401,
  signature_mismatch: 401,
  signature_stale: 401,
  delivery_id_missing: 400,
  delivery_id_malformed: 400,
  malformed_body: 400,
  method_not_allowed: 405,
  body_too_large: 413,
  encoding_unsupported: 415,
  body_timeout: 408,
  draining: 503,
  overloaded: 503,
  // The client has disconnected. If a proxy still forwards this status, it makes the sender retry.
  aborted: 503,
} as const;

/** The code of an outcome. The set of codes is fixed. */
export type OutcomeCode = keyof typeof statuses;

/** A condition that the operator should know about, but that did not change the outcome. The set is fixed. */
export type Warning =
  /** `Idempotency-Key` differs from the delivery id. */
  | "id_mismatch"
  /** A duplicate arrived under a delivery id other than that of the attempt that was processed or parked. */
  | "other_delivery_id"
  /**
   * The handler resolved, but the first call that records this in the store failed. Unless a retry succeeds, a later
   * attempt runs the handler again.
   */
  | "complete_failed"
  /** The run lost its lease before the handler settled, so another run may have started. */
  | "lease_lost"
  /** The lease of the event's previous run ended without a result: its process may have crashed. */
  | "taken_over"
  /**
   * When the lease was renewed, the handler had run for at least 60 s or 5 min, or the renewal was the last
   * (`maxRunMs`).
   */
  | "long_run"
  /** The signature matched a key other than the first active one. */
  | "old_secret"
  /** The memory store evicted a record before `retainMs` had passed. */
  | "evicted_early";

/** The facts of a delivery. A fact is absent if the delivery ended before the stage that establishes it. */
export interface DeliveryFacts {
  /** When `receive()` or `resume()` was called, in epoch milliseconds. */
  readonly receivedAt: number;
  /** The size of the body in bytes. */
  readonly bodyBytes?: number | undefined;
  /**
   * The id of the signing secret that matched; `"default"` for a secret that is not in a list. Absent for `resume`,
   * an intake and a guard, which verify nothing. The facts below, except `warnings`, are absent from an unverified
   * delivery.
   */
  readonly secretId?: string | undefined;
  /**
   * `X-SVC-Delivery-Id`, or the scheme's delivery id: 1 … 256 visible ASCII characters without a comma.
   * `X-SVC-Delivery-Id` is unsigned: an attacker who captured a delivery can change it.
   */
  readonly deliveryId?: string | undefined;
  /** `X-SVC-Subscription-Id`. Unsigned. Absent with a scheme. */
  readonly subscriptionId?: string | undefined;
  /**
   * `X-SVC-Attempt`, the sender's count. Absent if it is not 1 to 9 digits, and with a scheme. Unsigned: use it for
   * diagnostics, not for decisions.
   */
  readonly attempt?: number | undefined;
  /**
   * The origin of the event: one of the `sources` of an intake or a guard. Absent from deliveries that a receiver has
   * verified.
   */
  readonly source?: string | undefined;
  /** The event's type: from the signed body, unless the scheme reads it from a header. */
  readonly type?: string | undefined;
  /** The event's id; `eventIdSigned` states its source. */
  readonly eventId?: string | undefined;
  /**
   * True if `eventId` comes from the signed body (option `eventId`), false if it comes from the unsigned
   * `X-SVC-Event-Id` or is absent.
   */
  readonly eventIdSigned?: boolean | undefined;
  /**
   * The number of this run, counted by the receiver: 1 for the first run of this record, and again for the first run
   * after the record was parked. Absent when `dedupe` is `unverified`.
   */
  readonly run?: number | undefined;
  /**
   * A number that grows with every run of this record. Have your database reject a write whose fence is smaller than
   * that of an earlier write. Absent when `dedupe` is `unverified`.
   */
  readonly fence?: number | undefined;
  /**
   * `verified` once the store has granted a claim; `unverified` if a handler runs without one
   * (`onStoreError: "process"`).
   */
  readonly dedupe?: "verified" | "unverified" | undefined;
  /** The warnings of this delivery; empty if there are none. */
  readonly warnings: readonly Warning[];
}

/**
 * The result of one delivery: a union discriminated by `code`. `answer(outcome)` converts it to an HTTP response.
 */
export type Outcome = {
  readonly [Code in OutcomeCode]: DeliveryFacts & {
    readonly code: Code;
    /** The HTTP status that belongs to the code. */
    readonly status: (typeof statuses)[Code];
    /**
     * The time until the sender should try again, in milliseconds. Absent unless the response has a `Retry-After`.
     */
    readonly retryAfterMs?: number | undefined;
    /** The parts of the response that the scheme replaces, such as its status. Absent unless `status` is 200. */
    readonly reply?: Partial<Answer> | undefined;
  };
}[OutcomeCode];

/** An HTTP response in a form that every framework can send. */
export interface Answer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  /** The body as JSON text. Empty with a status that has no body, such as 204. */
  readonly body: string;
}

/**
 * Returns the HTTP response for an outcome, which adapters send. The body is `{"status":"<code>"}` for 200 and
 * `{"error":{"code":"<code>","message":"<fixed text>"}}` for any other status. The body never contains a part of the
 * payload, a key, a digest or a handler's error. A scheme may replace parts of a response with status 200, such as the
 * body.
 *
 * @example
 * ```ts
 * import { createServer } from "node:http";
 * import { answer, createReceiver } from "svc-webhooks";
 * import { readRawBody } from "svc-webhooks/node";
 *
 * const receiver = createReceiver({ secret: process.env.SVC_WEBHOOK_SECRET ?? "", on: { "*": () => {} } });
 *
 * createServer(async (request, response) => {
 *   const outcome = await receiver.receive({
 *     method: request.method ?? "",
 *     headers: request.headers,
 *     body: (limit) => readRawBody(request, limit),
 *   });
 *   const { status, headers, body } = answer(outcome);
 *   response.writeHead(status, headers);
 *   response.end(body);
 * }).listen(3000);
 * ```
 */
export function answer({ code, status, retryAfterMs, reply }: Outcome): Answer {
  const headers: Record<string, string> = {
    "Content-Type": "application/json",
    "Cache-Control": "no-store",
  };
  if (retryAfterMs !== undefined) headers["Retry-After"] = retryAfter(retryAfterMs);
  if (code === "method_not_allowed") headers["Allow"] = "POST";
  // Every 401 response must have this header (RFC 9110, section 15.5.2).
  if (status === 401) headers["WWW-Authenticate"] = "SVC-Signature";
  const content =
    status === 200 ? { status: code } : { error: { code, message: code.replaceAll("_", " ") } };
  return { status, headers, body: JSON.stringify(content), ...reply };
}

/** Returns the value of `Retry-After`: whole seconds, rounded up, 1 … 86,400 (RFC 9110, section 10.2.3). */
const retryAfter = (ms: number) => String(Math.min(Math.max(Math.ceil(ms / 1000) || 1, 1), 86_400));
