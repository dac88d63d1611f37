import type { OutcomeCode, Warning } from "../outcome.js";

/** The codes that have no line, or whose lines state the cause and the fix of their case. */
type OtherCode =
  | "processed"
  | "ignored"
  | "duplicate"
  | "parked"
  | "handler_failed"
  | "event_invalid"
  | "store_unavailable"
  | "body_unavailable"
  | "misconfigured"
  | "internal_error"
  | "method_not_allowed"
  | "aborted";

type Texts<Code extends string> = Readonly<
  Record<Code, readonly [happened: string, cause: string, fix: string]>
>;

const passHeaders = "Configure every proxy to pass each X-SVC-* header exactly once and unchanged.";

/** The texts that end a line of the log. */
export const lineTexts: Texts<Exclude<OutcomeCode | Warning, OtherCode>> = {
  in_flight: [
    "The event is already being processed.",
    "Another attempt is running, or the process that was running it died and the lease has not expired yet.",
    "The response was 503, so the sender retries. If this lasts longer than your handlers take, look for a handler whose promise never settles.",
  ],
  handler_timeout: [
    "The handler was still running after `handlerTimeoutMs`, so the response was 503.",
    "It is waiting for something slow, or its promise never settles.",
    "The handler keeps running under its lease, and the sender retries. If it often takes this long, raise `handlerTimeoutMs`, or put the work in a queue.",
  ],
  event_untyped: [
    "No event type was found in the body.",
    "None of the fields `type`, `event_type` and `event` is a string, or your `eventType` function did not return one.",
    "Pass an `eventType` function that returns the type.",
  ],
  signature_missing: [
    "The request has no X-SVC-Signature header.",
    "It did not come from the service, or a proxy removed the header.",
    passHeaders,
  ],
  signature_malformed: [
    'X-SVC-Signature is not "sha256=" followed by 64 hex digits.',
    "The request did not come from the service, or a proxy changed the header or sent it twice.",
    passHeaders,
  ],
  signature_mismatch: [
    "The signature does not match any configured secret.",
    "`secret` is not this endpoint's current signing secret, or something modified the body before it got here.",
    "Compare `secret` with the secret that the service returned for this endpoint; a rotation changes it. If they are equal, look for a proxy or a parser that rewrites the body.",
  ],
  signature_stale: [
    "The signed time of the request is further from this machine's clock than the scheme tolerates.",
    "It is a replay, something held the request back, or this machine's clock is wrong.",
    "If other requests are refused too, correct this machine's clock. Otherwise, no action is needed.",
  ],
  handshake: [
    "The sender tested the endpoint, and its signature is genuine.",
    "The endpoint was registered or changed, or the sender checks it from time to time.",
    "No action is needed: the receiver responded, and no handler was called.",
  ],
  delivery_id_missing: [
    "The signature is genuine, but there is no X-SVC-Delivery-Id header.",
    "A proxy removed it, or the request is a test that does not set it.",
    passHeaders,
  ],
  delivery_id_malformed: [
    "The signature is genuine, but X-SVC-Delivery-Id is not 1 to 256 visible ASCII characters without a comma.",
    "A proxy joined two headers, or changed this one.",
    passHeaders,
  ],
  malformed_body: [
    "The signature is genuine, but the body is not a JSON object in UTF-8.",
    "The service, or your test, signed something else.",
    "Check what your test sends. If the service sent it, report it to the service.",
  ],
  body_too_large: [
    "The body is larger than `maxBodyBytes`.",
    "The sender sent more than this receiver accepts, or sent it in very small pieces.",
    "If the service sends such events, raise `maxBodyBytes`.",
  ],
  encoding_unsupported: [
    "The body is compressed.",
    "A proxy compresses requests, and the signature covers the bytes as they were sent.",
    "Turn off request compression in the proxy.",
  ],
  body_timeout: [
    "The body did not arrive within `bodyTimeoutMs`.",
    "The sender or the connection is slow.",
    "If this happens often, check your proxy's buffering, or raise `bodyTimeoutMs`.",
  ],
  draining: [
    "The receiver is shutting down.",
    "The application called `drain`.",
    "No action is needed: the response was 503, so the sender retries.",
  ],
  id_mismatch: [
    "The Idempotency-Key header differs from the delivery id.",
    "A proxy sets or changes the header.",
    "The receiver used X-SVC-Delivery-Id. Configure every proxy to pass Idempotency-Key unchanged.",
  ],
  other_delivery_id: [
    "The event was already handled under another delivery id, so the handler was not called.",
    "It was replayed, a second subscription delivers it too, or the receivers of two endpoints have the same `name`.",
    "If the receivers of two endpoints share a `name`, give each of them its own.",
  ],
  complete_failed: [
    "The handler finished, but the store did not record it.",
    "The store is down or slow.",
    "The write is retried for one lease. If it keeps failing, the next attempt runs the event again.",
  ],
  lease_lost: [
    "The handler outlived its lease, so another run may have started.",
    "Code blocked the event loop, the process was paused, or the store was unavailable for longer than a lease.",
    "Stop the handler when `context.signal` aborts, look for code that blocks, or raise `leaseMs` or `maxRunMs`.",
  ],
  taken_over: [
    "The lease of this event's previous run expired without a result, so this run may repeat its effects.",
    "Its process crashed, was killed or was paused for longer than the lease.",
    "Look for a process that crashed or was killed during the last `leaseMs` before that lease expired. Make the handler idempotent with `idempotencyKey`, or use a store transaction.",
  ],
  long_run: [
    "The handler is still running.",
    "It is waiting for something slow, or its promise never settles.",
    "Set timeouts on the requests that it makes. If the work has to take this long, put it in a queue. Once its lease is no longer renewed, it expires, and the next attempt starts another run.",
  ],
  old_secret: [
    "The delivery was signed with a secret that is not the first in the list.",
    "A rotation is in progress.",
    "Once this warning has not appeared for a day, remove the old secret.",
  ],
  evicted_early: [
    "The memory store was full and dropped a delivery before `retainMs` had passed.",
    "More deliveries arrive within `retainMs` than `maxRecords` allows.",
    "Raise `maxRecords`, or use a shared store.",
  ],
};

export const otherTexts: Texts<OtherCode> = {
  processed: ["The handler ran, and the store recorded it.", "", "No action is needed."],
  ignored: [
    "No handler is registered for the event's type.",
    "The type is misspelt in `on`, or this receiver does not need it.",
    'If you need the event, add a handler for its type, or "*" for every type.',
  ],
  duplicate: [
    "The event was already processed, so the handler was not called again.",
    "The service sent it again, or a test used a delivery id twice.",
    "No action is needed. To run it again, call `receiver.forget({ deliveryId })` and redeliver it.",
  ],
  parked: [
    "The receiver passed the event to `onParked` and will not run it again.",
    "The handler threw a PermanentError, or the event has had `maxRuns` runs.",
    "Fix the cause, then pass the stored delivery to `receiver.resume`.",
  ],
  handler_failed: [
    "The handler threw an error.",
    "Your handler, or something that it called, failed.",
    "Read the error and its stack in the receiver's log. The sender retries.",
  ],
  event_invalid: [
    "The schema for this event type rejected the event.",
    "The schema does not match what the service sends.",
    "Correct the schema. The sender's next attempt is checked against it.",
  ],
  store_unavailable: [
    "The store failed or did not respond in time, so no handler ran.",
    "The store is down, full, or not connected yet.",
    "Check the store, and connect it before the server listens. The receiver's log has the store's error, and the sender retries.",
  ],
  body_unavailable: [
    "The receiver did not receive the raw body.",
    "A body parser ran before the receiver, or the platform changed or truncated the body.",
    "Mount the receiver before every body parser, or configure the parser to keep the raw bytes.",
  ],
  misconfigured: [
    "The receiver could not verify or claim the delivery.",
    "The `secret` function failed, took longer than 1.5 s or returned no active key, or `eventId` returned no id.",
    "The receiver's log names the option and the problem.",
  ],
  internal_error: [
    "Processing the delivery failed with an unexpected error.",
    "A function that you passed as an option, such as `eventType`, threw, or the receiver has a bug.",
    "Read the error in the receiver's log. If it does not come from your code, report it.",
  ],
  method_not_allowed: [
    "The request was not a POST.",
    "A browser or a health check requested the URL.",
    "No action is needed: this URL receives webhooks by POST. Give health checks their own path.",
  ],
  aborted: [
    "The sender disconnected while it was sending the body.",
    "The connection broke, or a proxy closed it.",
    "No action is needed: the sender retries.",
  ],
};
