import type { CaseSource } from "./case.js";

const from =
  (document: string) =>
  (section: string, quote: string): CaseSource => ({ document, section, quote });

const byInterface = from("service interface");
const byStandardWebhooks = from("Standard Webhooks 1.0.0");
const byHttp = from("RFC 9110");

export const signing: CaseSource = byInterface(
  "Signature verification rules, 1",
  "Compute HMAC-SHA256 of the raw body with the signing secret, hex-encode it, and prefix `sha256=`.",
);
export const comparison: CaseSource = byInterface(
  "Signature verification rules, 2",
  "Compare to `X-SVC-Signature` with a constant-time comparison; lengths must be equal first.",
);
export const prefix: CaseSource = byInterface(
  "Signature verification rules, 3",
  "A header that does not start with `sha256=` is invalid.",
);
export const idempotent: CaseSource = byInterface(
  "Signature verification rules, 4",
  "Handlers must be idempotent.",
);
export const exactBytes: CaseSource = byInterface(
  "Delivery headers",
  "HMAC-SHA256 over the exact raw request body, keyed with the endpoint signing secret.",
);
export const authentication: CaseSource = byInterface(
  "Authentication, 4",
  "Webhook deliveries are authenticated by the client through an HMAC signature (see Events); they do not use the API key.",
);
export const typeList: CaseSource = byInterface(
  "Event types named",
  "The complete list of event types is returned by `GET /v1/webhook-event-types`; the list itself: not shown.",
);
export const redeliver: CaseSource = byInterface(
  "Events, Rules",
  "A failed delivery can be retried on request with the redeliver operation.",
);

export const unknownSource: CaseSource = byStandardWebhooks(
  "Verifying webhook authenticity",
  "Webhooks are just HTTP requests from an unknown source, so verifying the authenticity of webhooks is a requirement for any secure webhook implementation.",
);
export const smallestChange: CaseSource = byStandardWebhooks(
  "Signature scheme",
  "Cryptographic signatures are sensitive to even the smallest changes, and even a stray space can cause the signature to be invalid.",
);
export const validSignature: CaseSource = byStandardWebhooks(
  "Webhook headers",
  "Signing with multiple keys, even compromised ones, doesn't diminish the security of the scheme, as the consumer still requires a valid signature.",
);
export const tolerance: CaseSource = byStandardWebhooks(
  "Verifying signatures",
  "Make sure to verify the `webhook-timestamp` header has a timestamp that is within some allowable tolerance of the current timestamp to prevent replay attacks.",
);
export const idempotencyKey: CaseSource = byStandardWebhooks(
  "Webhook metadata",
  "The ID is often used as an idempotency key, which lets a consumer ensure that they only process a specific event once, even if sent multiple times maliciously, in error, or due to networking issues.",
);
export const success: CaseSource = byStandardWebhooks(
  "Delivery success and failure",
  "A webhook delivery is considered successful if it was responded to with a `2xx` status code (status codes 200-299), and it is considered a failure in any other scenario.",
);

export const stateless: CaseSource = byHttp(
  "3.3",
  "HTTP is defined as a stateless protocol, meaning that each request message's semantics can be understood in isolation, and that the relationship between connections and messages on them has no impact on the interpretation of those messages.",
);
export const fieldNames: CaseSource = byHttp("5.1", "Field names are case-insensitive");
export const oneFieldLine: CaseSource = byHttp(
  "5.3",
  "a sender MUST NOT generate multiple field lines with the same name in a message",
);
export const contentType: CaseSource = byHttp(
  "8.3",
  'If a Content-Type header field is not present, the recipient MAY either assume a media type of "application/octet-stream" ([RFC2046], Section 4.5.1) or examine the data to determine its type.',
);
export const methods: CaseSource = byHttp(
  "9.1",
  "An origin server that receives a request method that is recognized and implemented, but not allowed for the target resource, SHOULD respond with the 405 (Method Not Allowed) status code.",
);
export const clientError: CaseSource = byHttp(
  "15.5.1",
  "The 400 (Bad Request) status code indicates that the server cannot or will not process the request due to something that is perceived to be a client error",
);
export const tooLarge: CaseSource = byHttp(
  "15.5.14",
  "The 413 (Content Too Large) status code indicates that the server is refusing to process a request because the request content is larger than the server is willing or able to process.",
);
export const chunked: CaseSource = from("RFC 9112")(
  "7.1",
  "A recipient MUST be able to parse and decode the chunked transfer coding.",
);
export const incomplete: CaseSource = from("RFC 9112")(
  "8",
  "A server that receives an incomplete request message, usually due to a canceled request or a triggered timeout exception, MAY send an error response prior to closing the connection.",
);
export const byteOrderMark: CaseSource = from("RFC 8259")(
  "8.1",
  "implementations that parse JSON texts MAY ignore the presence of a byte order mark rather than treating it as an error.",
);
export const leaks: CaseSource = from("RFC 9457")(
  "5",
  "Risks include leaking information that can be exploited to compromise the system, access to the system, or the privacy of users of the system.",
);
