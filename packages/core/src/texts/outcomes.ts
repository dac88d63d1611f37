import type { OutcomeCode, Warning } from "../outcome.js";

/** The likely cause and the fix of an outcome or a warning, by code. */
export const causes: Readonly<Partial<Record<OutcomeCode | Warning | "never_verified", string>>> = {
  never_verified:
    "This receiver has not verified any delivery yet, so its configuration is probably wrong.",
  signature_missing:
    "The request has no X-SVC-Signature. It is not from the service, or a proxy removed the header.",
  signature_malformed:
    'X-SVC-Signature is not "sha256=" and 64 hex digits. The request is not from the service, or something changed the header.',
  signature_mismatch:
    "No secret matches. Compare `secret` with the secret of this webhook endpoint; it changes with a rotation. If they are equal, something changed the body before the receiver.",
  delivery_id_missing:
    "The signature is genuine, but there is no X-SVC-Delivery-Id. A proxy may have removed it.",
  delivery_id_malformed:
    "The signature is genuine, but X-SVC-Delivery-Id is not 1 to 256 visible ASCII characters without a comma. A proxy may have joined two headers.",
  malformed_body: "The signature is genuine, but the body is not a JSON object in UTF-8.",
  body_too_large:
    "The body is larger than maxBodyBytes. If the service sends such events, raise it.",
  body_timeout: "The body did not arrive within bodyTimeoutMs.",
  encoding_unsupported:
    "The body is compressed, and the signature covers other bytes. Configure the proxy that compresses requests not to.",
  event_untyped:
    "None of the fields type, event_type and event of the body is a text. Pass eventType, which returns the type.",
  in_flight:
    "Another run of this event holds its lease. The sender gets 503 and comes back, so nothing is lost if that run fails.",
  handler_timeout:
    "The handler has run for handlerTimeoutMs. It continues under its lease, and the sender comes back. If it often takes this long, raise handlerTimeoutMs, or put the work in a queue.",
  draining: "The receiver is shutting down. The sender gets 503 and comes back.",
  old_secret:
    "The sender uses a secret that is not the first of the list. Remove it when this line has not appeared for a day.",
  complete_failed:
    "The handler has finished, but the store did not record it. It is called again for the time of a lease; if it keeps failing, a later attempt runs the event again.",
  lease_lost:
    "The handler outlived its lease, so another run may have started. Raise leaseMs or maxRunMs, or look for code that blocks the event loop.",
  evicted_early:
    "The memory store is full and forgot a delivery before retainMs. Use a shared store.",
};
