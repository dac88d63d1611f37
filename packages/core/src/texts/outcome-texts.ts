import type { OutcomeCode, Warning } from "../outcome.js";

/** The codes that are not logged, or whose log lines describe the specific case instead. */
type OtherCode =
  | "processed"
  | "enqueued"
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

const passHeaders =
  "Configure every proxy to forward each X-SVC-* header exactly once and unchanged.";

/** The texts that end a log line, by code. */
export const lineTexts: Texts<Exclude<OutcomeCode | Warning, OtherCode>> = {
  in_flight: [
    "The event is already being processed.",
    "Another attempt is running, or its process died and its lease has not expired yet.",
    "After a 503 response, most senders retry. If this lasts longer than `leaseMs`, look for a slow handler or a promise that never settles.",
  ],
  handler_timeout: [
    "The handler was still running after `handlerTimeoutMs`, so the response was 503.",
    "The handler is waiting for something slow, or its promise never settles.",
    "The handler keeps running under its lease, and most senders retry. If handlers often take this long, raise `handlerTimeoutMs` or put the work in a queue.",
  ],
  event_untyped: [
    "No event type was found.",
    "None of the fields `type`, `event_type` and `event` is a non-empty string, or the `eventType` of your options or scheme returned none.",
    "Pass an `eventType` function that returns the type.",
  ],
  signature_missing: [
    "The request has no X-SVC-Signature header.",
    "The request did not come from the service, or a proxy removed the header.",
    passHeaders,
  ],
  signature_malformed: [
    'X-SVC-Signature is not "sha256=" followed by 64 hex digits.',
    "The request did not come from the service, or a proxy changed the header or sent it twice.",
    passHeaders,
  ],
  signature_mismatch: [
    "The signature does not match any valid secret.",
    "`secret` is not this endpoint's current signing secret, or something modified the body before it got here.",
    "Compare `secret` with the secret that the service returned for this endpoint; a rotation changes it. If they match, look for a proxy or a parser that rewrites the body.",
  ],
  signature_stale: [
    "The signed timestamp differs too much from this machine's clock.",
    "The request was replayed or delayed, or this machine's clock is wrong.",
    "If other requests are refused too, correct this machine's clock. Otherwise, no action is needed.",
  ],
  handshake: [
    "The request only set up or tested the endpoint.",
    "The endpoint was registered or changed, or the sender tests it regularly.",
    "No other action is needed: no handler was called.",
  ],
  delivery_id_missing: [
    "The signature is genuine, but there is no X-SVC-Delivery-Id header.",
    "A proxy removed the header, or a test did not set it.",
    passHeaders,
  ],
  delivery_id_malformed: [
    "The signature is genuine, but X-SVC-Delivery-Id is invalid. It must be 1 to 256 visible ASCII characters without commas.",
    "A proxy joined two headers or changed the header.",
    passHeaders,
  ],
  malformed_body: [
    "The signature is genuine, but the body is not a JSON object in UTF-8.",
    "The service or your test signed something else.",
    "Check what your test sends. If the service sent the body, report the problem to the service.",
  ],
  body_too_large: [
    "The body is larger than `maxBodyBytes`, or it arrived in too many pieces.",
    "The sender sent more than this receiver accepts, or split the body into very small pieces.",
    "If the service sends events of this size, raise `maxBodyBytes`.",
  ],
  encoding_unsupported: [
    "The request has a Content-Encoding that may mean compression.",
    "A proxy compresses requests, but the signature covers the original bytes.",
    "Turn off request compression in the proxy.",
  ],
  body_timeout: [
    "The body did not arrive within `bodyTimeoutMs`.",
    "The sender or the connection is slow.",
    "If this happens often, check how your proxy buffers requests, or raise `bodyTimeoutMs`.",
  ],
  queue_unavailable: [
    "The queue did not store the delivery, so the response was 503.",
    "The queue is down or slow, or it refused the job.",
    "Check the queue. After a 503 response, most senders retry.",
  ],
  overloaded: [
    "`maxConcurrent` deliveries are pending, so the response was 503.",
    "Deliveries arrive faster than your handlers finish.",
    "Most senders retry. If this happens often, raise `maxConcurrent`, add processes, or run slow handlers from a queue.",
  ],
  draining: [
    "The receiver is shutting down.",
    "The application called `drain`.",
    "No action is needed: after a 503 response, most senders retry.",
  ],
  id_mismatch: [
    "The Idempotency-Key header differs from the delivery id.",
    "A proxy sets or changes the header.",
    "The receiver used X-SVC-Delivery-Id. Configure every proxy to forward Idempotency-Key unchanged.",
  ],
  other_delivery_id: [
    "The event was already handled or parked under another delivery id, so the handler was not called.",
    "The event was replayed, a second subscription delivers it too, or the receivers of two endpoints have the same `name`.",
    "If the receivers of two endpoints share a `name`, give each receiver its own.",
  ],
  complete_failed: [
    "The handler finished, but the store did not record the result.",
    "The store is down or slow.",
    "Check the store. The receiver retries the write for the duration of one lease. If every retry fails and another copy arrives, the handler runs again.",
  ],
  lease_lost: [
    "The handler outlived its lease, so another run may have started.",
    "Code blocked the event loop, the process was paused, the store was unavailable, or the run exceeded `maxRunMs`.",
    "Stop the handler when `context.signal` aborts, look for blocking code, or raise `leaseMs` or `maxRunMs`.",
  ],
  taken_over: [
    "The previous run of this event recorded no result before its lease expired, so this run may repeat its effects.",
    "The process crashed or hung, the store was unavailable, or the run exceeded `maxRunMs`.",
    "Look for the cause in the logs from just before the lease expired. Make the handler idempotent with `idempotencyKey`, or use a store transaction.",
  ],
  long_run: [
    "The handler is still running.",
    "The handler is waiting for something slow, or its promise never settles.",
    "Set timeouts on the requests that the handler makes. If the work has to take this long, put it in a queue. After `maxRunMs`, the lease is no longer renewed; once it has expired, the next attempt starts another run.",
  ],
  old_secret: [
    "The delivery was signed with a secret other than the first in the list.",
    "A rotation is in progress.",
    "Remove the old secret once this warning has not appeared for a day.",
  ],
  evicted_early: [
    "The memory store was full, so it dropped a record before `retainMs` had passed.",
    "More deliveries arrive within `retainMs` than `maxRecords` allows.",
    "Raise `maxRecords` or use a shared store.",
  ],
};

export const otherTexts: Texts<OtherCode> = {
  processed: ["The handler succeeded.", "", "No action is needed."],
  enqueued: [
    "The queue has stored the delivery.",
    "",
    "No action is needed: a worker runs the handler.",
  ],
  ignored: [
    "No handler is registered for the event's type.",
    "The type is misspelled in `on`, or you did not add a handler for it.",
    'If you need the event, add a handler for its type or for "*".',
  ],
  duplicate: [
    "The event was already processed, so the handler was not called again.",
    "The service sent it again, or a test used a delivery id twice.",
    "No action is needed. To run the handler again, call `receiver.forget`, then send the delivery again.",
  ],
  parked: [
    "The event is parked, so further attempts do not run its handler.",
    "The handler threw a PermanentError, or the event reached the limit set by `maxRuns`.",
    "Fix the cause, then pass the delivery that `onParked` stored to `receiver.resume`. If the handler runs from a queue, retry its dead letter.",
  ],
  handler_failed: [
    "The handler failed.",
    "The handler or `onParked` threw an error, or the handler did not await its transaction.",
    "Read the error and its stack in the receiver's log. Most senders retry.",
  ],
  event_invalid: [
    "The schema for this event type rejected the event.",
    "The schema does not match what the service sends.",
    "If the event is valid, correct the schema. The sender's next attempt is validated again.",
  ],
  store_unavailable: [
    "The store failed or did not respond in time, so no handler ran.",
    "The store is down, full, or not connected yet.",
    "Check the store, and connect it before the server listens. The store's error is in the receiver's log. Most senders retry.",
  ],
  body_unavailable: [
    "The raw body did not reach the receiver.",
    "A body parser ran before the receiver, or the platform changed or truncated the body.",
    "Mount the receiver before every body parser, or configure the parser to keep the raw bytes.",
  ],
  misconfigured: [
    "The receiver could not verify or claim the delivery.",
    "The `secret` function failed or took longer than 1.5 s, no key is active, `eventId` returned no id, or a job was stored by a receiver of another `name` or `dedupeBy`.",
    "Read the receiver's log: it names the option and describes the problem.",
  ],
  internal_error: [
    "An unexpected error occurred while the delivery was being processed.",
    "A function that you passed as an option, such as `eventType`, threw an error, or the receiver has a bug.",
    "Read the error in the receiver's log. If the error does not come from your code, report it.",
  ],
  method_not_allowed: [
    "The request was not a POST request.",
    "A browser or a health check requested the URL.",
    "No action is needed: webhooks arrive as POST requests. Give health checks a path of their own.",
  ],
  aborted: [
    "The sender disconnected while it was sending the body.",
    "The connection was lost, or a proxy or server closed it.",
    "Most senders retry, so no action is needed unless this happens often.",
  ],
};
