import { WebhookError } from "./errors.js";
import type { DeadlineCall } from "./store.js";

/** The headers of a delivery, lower-case (interface document, "Delivery headers"). None of them is signed. */
export const headerNames = {
  signature: "x-svc-signature",
  deliveryId: "x-svc-delivery-id",
  subscriptionId: "x-svc-subscription-id",
  eventId: "x-svc-event-id",
  attempt: "x-svc-attempt",
  idempotencyKey: "idempotency-key",
} as const;

/** One header as frameworks hand it over; several values are what the sender repeated. */
export type HeaderValue = string | readonly string[] | undefined;

/** `Headers`, a record whose names may have any case, or a look-up by lower-case name. */
export type DeliveryHeaders =
  Headers | Readonly<Record<string, HeaderValue>> | ((lowerCaseName: string) => HeaderValue);

/** Looks a header up by its lower-case name; `""` where it is absent. Repeated values are joined with `", "` (RFC 9110, section 5.3). */
export type HeaderLookup = (lowerCaseName: string) => string;

/**
 * Reads the whole body, once. `limit` is `maxBodyBytes`: stop reading as soon as it is exceeded.
 * `call.signal` is aborted when `bodyTimeoutMs` has passed: release what was read. Rejects with a
 * `BodyError`; any other rejection counts as `body_unavailable`.
 */
export type BodyReader = (limit: number, call: DeadlineCall) => Promise<Uint8Array>;

/** One HTTP request from the service, as an adapter hands it to the receiver. */
export interface Delivery {
  /** The request method, as received. */
  readonly method: string;
  readonly headers: DeliveryHeaders;
  /** The exact bytes received, or how to read them. A reader is not called for what is refused without a body. */
  readonly body: Uint8Array | BodyReader;
  /** For adapters: what to do where the bytes are consumed or cut. Ends the printed line of `body_unavailable`. */
  readonly fix?: string | undefined;
}

/** A verified delivery that can be stored and given to `resume()`: the service's headers and the exact bytes. */
export interface StoredDelivery extends Delivery {
  readonly headers: Readonly<Record<string, string | undefined>>;
  readonly body: Uint8Array;
}

/** Names the record of a delivery. */
export interface ForgetTarget {
  readonly deliveryId: string;
  /** The exact bytes of the body; needed where the record's key comes from it: with `dedupeBy` `"event"` or `"body"`. */
  readonly body?: Uint8Array | undefined;
}

/** The service's own headers, the only ones that a stored delivery keeps. */
export const storedHeaders = (header: HeaderLookup): StoredDelivery["headers"] =>
  Object.fromEntries(Object.values(headerNames).map((name) => [name, header(name) || undefined]));

/** A stored delivery as JSON text, for a text or JSON column; the body is base64 (RFC 4648, section 4). */
export function serializeDelivery({ method, headers, body }: StoredDelivery): string {
  let binary = "";
  // In slices that fit on a stack.
  for (let at = 0; at < body.length; at += 32_768) {
    binary += String.fromCharCode(...body.subarray(at, at + 32_768));
  }
  return JSON.stringify({ method, headers, body: btoa(binary) });
}

/**
 * Reads what `serializeDelivery` wrote: the text, or the object that a driver made of a JSON column.
 *
 * @throws WebhookError `invalid_delivery` for anything else
 */
export function parseDelivery(stored: unknown): StoredDelivery {
  try {
    const { method, headers, body } = (
      typeof stored === "string" ? JSON.parse(stored) : stored
    ) as Record<keyof StoredDelivery, unknown>;
    const binary = atob(body as string);
    const bytes = new Uint8Array(binary.length);
    for (let at = 0; at < bytes.length; at += 1) bytes[at] = binary.charCodeAt(at);
    const isWhole = method === "POST" && btoa(binary) === body;
    const isRecord = typeof headers === "object" && !Array.isArray(headers);
    if (isWhole && isRecord && Object.values(headers as object).every(isText)) {
      return { method, headers: headers as StoredDelivery["headers"], body: bytes };
    }
  } catch {
    // Not JSON, not an object or not base64: reported like a wrong field.
  }
  throw new WebhookError(
    "invalid_delivery",
    "parseDelivery() takes what serializeDelivery() returned, unchanged.",
  );
}

const isText = (value: unknown) => typeof value === "string";
