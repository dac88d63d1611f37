import { WebhookError } from "./errors.js";
import type { DeadlineCall, MaybePromise } from "./store.js";

/**
 * The lower-case names of a delivery's headers (interface document, "Delivery headers"). The signature covers none
 * of these headers.
 */
export const headerNames = {
  signature: "x-svc-signature",
  deliveryId: "x-svc-delivery-id",
  subscriptionId: "x-svc-subscription-id",
  eventId: "x-svc-event-id",
  attempt: "x-svc-attempt",
  idempotencyKey: "idempotency-key",
} as const;

/** The JSON object that a signed body contains. */
export type SignedBody = Readonly<Record<string, unknown>>;

/**
 * The value of a header as frameworks represent it: a list for a repeated header, undefined or null for an absent one.
 * Numbers and booleans, which some adapters pass, are read as text.
 */
export type HeaderValue =
  string | number | boolean | readonly (string | number | boolean)[] | null | undefined;

/**
 * `Headers`, a record whose names may have any case, or a function that looks a header up by its
 * lower-case name.
 */
export type DeliveryHeaders =
  Headers | Readonly<Record<string, HeaderValue>> | ((lowerCaseName: string) => HeaderValue);

/**
 * Returns a header by its lower-case name, or `""` if it is absent. Repeated values are joined with
 * `", "` (RFC 9110, section 5.3).
 */
export type HeaderLookup = (lowerCaseName: string) => string;

/**
 * Reads the whole body. Called at most once. `limit` is `maxBodyBytes`: stop reading as soon as the body exceeds
 * it. When `call.signal` is aborted, after `bodyTimeoutMs`, release the bytes read so far. To choose the outcome,
 * throw or reject with a `BodyError`; any other error ends the delivery as `body_unavailable`.
 */
export type BodyReader = (limit: number, call: DeadlineCall) => MaybePromise<Uint8Array>;

/** One HTTP request, as an adapter passes it to the receiver. */
export interface Delivery {
  /**
   * The request method as received. Any method except `POST` ends the delivery as `method_not_allowed`, unless the
   * scheme responds to a GET request.
   */
  readonly method: string;
  /**
   * The URL as received, or its path and query. Only schemes of senders that verify the endpoint with a GET request
   * read it.
   */
  readonly url?: string | undefined;
  /** The request's headers. Null and undefined, which some platforms' test events contain, count as no headers. */
  readonly headers: DeliveryHeaders;
  /**
   * The exact bytes received, or a function that reads them. The function is not called for a request that is refused
   * before its body is needed, for example an unsigned one.
   */
  readonly body: Uint8Array | BodyReader;
  /**
   * For adapters: the fix if other code consumed or truncated the body, as a clause without a period. It ends the log
   * line of `body_unavailable`.
   */
  readonly fix?: string | undefined;
}

/** A verified delivery that can be stored and passed to `resume()`: the sender's headers and the exact body. */
export interface StoredDelivery extends Delivery {
  readonly headers: Readonly<Record<string, string | undefined>>;
  readonly body: Uint8Array;
}

/** Identifies the record that `forget` removes or `peek` reads. */
export interface ForgetTarget {
  /** The value of `X-SVC-Delivery-Id`, or the delivery id of the scheme. */
  readonly deliveryId: string;
  /**
   * The exact bytes of the body. Required with `dedupeBy` `"event"` and `"body"`, which derive the
   * record's key from it.
   */
  readonly body?: Uint8Array | undefined;
  /**
   * The headers of the delivery. Required with `dedupeBy: "event"` if the scheme reads the type from a header, as
   * the schemes for GitHub and Shopify do. A stored delivery contains them: `forget({ deliveryId, ...delivery })`.
   */
  readonly headers?: DeliveryHeaders | undefined;
}

/** Returns the headers that a stored delivery keeps: those in `names`, by default the service's own. */
export const storedHeaders = (
  header: HeaderLookup,
  names: readonly string[] = Object.values(headerNames),
): StoredDelivery["headers"] =>
  Object.fromEntries(names.map((name) => [name, header(name) || undefined]));

/**
 * Returns a stored delivery as JSON text, for a text or JSON column:
 * `{"method":"POST","headers":{…},"body":"…"}`, with the body in base64 (RFC 4648, section 4).
 *
 * @example
 * ```ts
 * import { createReceiver, PermanentError, serializeDelivery } from "svc-webhooks";
 *
 * const parked = new Map<string, string>();
 *
 * export const receiver = createReceiver({
 *   secret: process.env.SVC_WEBHOOK_SECRET ?? "",
 *   onParked: (_error, { idempotencyKey, delivery }) =>
 *     parked.set(idempotencyKey, serializeDelivery(delivery)),
 *   on: {
 *     "*": () => {
 *       throw new PermanentError("no such account");
 *     },
 *   },
 * });
 * ```
 */
export function serializeDelivery({ method, headers, body }: StoredDelivery): string {
  let base64 = "";
  // Each slice is short enough to be passed as arguments, and its length is a multiple of 3 bytes, so that only the
  // last slice is padded. `apply` takes a sixth of the time of spreading the slice.
  for (let start = 0; start < body.length; start += sliceBytes) {
    const slice: ArrayLike<number> = body.subarray(start, start + sliceBytes);
    base64 += btoa(String.fromCharCode.apply(null, slice as number[]));
  }
  return JSON.stringify({ method, headers, body: base64 });
}

const sliceBytes = 8_190;

/**
 * Parses the output of `serializeDelivery`: its text, or the object that a database driver parsed from a JSON
 * column.
 *
 * @throws WebhookError `invalid_delivery` for any other value
 *
 * @example
 * ```ts
 * import { createReceiver, parseDelivery } from "svc-webhooks";
 *
 * const receiver = createReceiver({ secret: process.env.SVC_WEBHOOK_SECRET ?? "", on: { "*": () => {} } });
 *
 * // Runs a stored delivery; returns whether it can be removed.
 * export async function runAgain(stored: string): Promise<boolean> {
 *   const { code } = await receiver.resume(parseDelivery(stored));
 *   return code === "processed" || code === "duplicate";
 * }
 * ```
 */
export function parseDelivery(stored: unknown): StoredDelivery {
  try {
    const { method, headers, body } = (
      typeof stored === "string" ? JSON.parse(stored) : stored
    ) as Record<keyof StoredDelivery, unknown>;
    const binary = atob(body as string);
    const bytes = new Uint8Array(binary.length);
    for (let index = 0; index < bytes.length; index += 1) bytes[index] = binary.charCodeAt(index);
    const isWhole = method === "POST" && btoa(binary) === body;
    const isRecord = typeof headers === "object" && !Array.isArray(headers);
    if (isWhole && isRecord && Object.values(headers as object).every(isText)) {
      return { method, headers: headers as StoredDelivery["headers"], body: bytes };
    }
  } catch {
    // Invalid JSON, a value that is not an object and invalid base64 are reported below, like a wrong field.
  }
  throw new WebhookError(
    "invalid_delivery",
    "parseDelivery() needs the unchanged output of serializeDelivery().",
  );
}

const isText = (value: unknown) => typeof value === "string";
