import { sign, type SecretKey } from "@svc-webhooks/core";
import { assertOptions, headerNames } from "@svc-webhooks/core/adapter";
import { newDeliveryId, presentOnly, type SignedDelivery } from "./delivery.js";
import { eventBytes } from "./event-bytes.js";
import { schemeDelivery, type SchemeDeliveryOptions } from "./scheme-delivery.js";

/** The options for a delivery from the service. */
export interface SignedDeliveryOptions {
  /** The key that signs the delivery. Default `"whsec_test"`. */
  readonly secret?: SecretKey | undefined;
  /** The value of `X-SVC-Delivery-Id` and `Idempotency-Key`. Default: a new id each time. */
  readonly deliveryId?: string | undefined;
  /** The value of `X-SVC-Attempt`, 1 or more. Default 1. */
  readonly attempt?: number | undefined;
  /** Headers that are added to the delivery, or that replace its own. Undefined omits a header. */
  readonly headers?: Readonly<Record<string, string | undefined>> | undefined;
}

interface WithUrl {
  /** The URL of the request. Default `https://example.org/webhooks`. */
  readonly url?: string | undefined;
}

export interface SignedRequestOptions extends SignedDeliveryOptions, WithUrl {}

export interface SchemeRequestOptions extends SchemeDeliveryOptions, WithUrl {}

/**
 * Creates a signed delivery of `event` as the service would send it or, with the option `scheme`, as another sender
 * would: `receiver.receive(await signedDelivery({ type: "email.sent" }))`. A string or bytes become the body unchanged;
 * any other value is sent as JSON. With `scheme`, an object is completed with the members that the sender's bodies have
 * and the object lacks, such as an id.
 *
 * @throws ConfigError (as a rejection) `invalid_secret`; `unknown_option`; `invalid_option` for an invalid
 *   option, and for an event without a JSON form, such as undefined or a function
 *
 * @example
 * ```ts
 * import assert from "node:assert/strict";
 * import { createReceiver } from "svc-webhooks";
 * import { signedDelivery } from "@svc-webhooks/testing";
 *
 * const receiver = createReceiver({ secret: "whsec_test", on: { "*": () => {} } });
 *
 * const delivery = await signedDelivery({ type: "email.sent" });
 * assert.equal((await receiver.receive(delivery)).code, "processed");
 * assert.equal((await receiver.receive(delivery)).code, "duplicate");
 * ```
 *
 * @example
 * ```ts
 * import assert from "node:assert/strict";
 * import { createReceiver } from "svc-webhooks";
 * import { stripe } from "svc-webhooks/schemes";
 * import { signedDelivery, tamper } from "@svc-webhooks/testing";
 *
 * const secret = "whsec_test";
 * const receiver = createReceiver({
 *   scheme: stripe(),
 *   secret,
 *   on: { "invoice.paid": () => {} },
 *   logger: { info() {}, warn() {}, error() {} },
 * });
 *
 * const delivery = await signedDelivery({ type: "invoice.paid" }, { scheme: "stripe", secret });
 * assert.equal((await receiver.receive(delivery)).code, "processed");
 * assert.equal((await receiver.receive(await tamper.stale(delivery))).code, "signature_stale");
 * ```
 */
export async function signedDelivery(
  event: unknown,
  options: SignedDeliveryOptions | SchemeDeliveryOptions = {},
): Promise<SignedDelivery> {
  assertOptions(options, namesFor(options));
  if (hasScheme(options)) return schemeDelivery(event, options);
  const { secret = "whsec_test", deliveryId = newDeliveryId(), attempt = 1, headers } = options;
  const body = eventBytes(event);
  const all = {
    "content-type": "application/json",
    [headerNames.signature]: await sign(body, secret),
    [headerNames.deliveryId]: deliveryId,
    [headerNames.idempotencyKey]: deliveryId,
    [headerNames.attempt]: String(attempt),
    ...headers,
  };
  return { method: "POST", headers: presentOnly(all), body };
}

/**
 * Creates the delivery that `signedDelivery` creates, as a web-standard `Request`:
 * `receiver.fetch(await signedRequest({ type: "email.sent" }))`.
 *
 * @throws ConfigError (as a rejection) with the codes of `signedDelivery`
 *
 * @example
 * ```ts
 * import assert from "node:assert/strict";
 * import { createReceiver } from "svc-webhooks";
 * import { signedRequest } from "@svc-webhooks/testing";
 *
 * const receiver = createReceiver({
 *   secret: "whsec_test",
 *   on: { "*": () => {} },
 *   logger: { info() {}, warn() {}, error() {} },
 * });
 *
 * const forged = await signedRequest({ type: "email.sent" }, { secret: "another" });
 * assert.equal((await receiver.fetch(forged)).status, 401);
 * ```
 */
export async function signedRequest(
  event: unknown,
  options: SignedRequestOptions | SchemeRequestOptions = {},
): Promise<Request> {
  assertOptions(options, [...namesFor(options), "url"]);
  const { url = "https://example.org/webhooks", ...others } = options;
  const { method, headers, body } = await signedDelivery(event, others);
  return new Request(url, { method, headers, body });
}

const hasScheme = (
  options: SignedDeliveryOptions | SchemeDeliveryOptions,
): options is SchemeDeliveryOptions =>
  (Object(options) as Partial<SchemeDeliveryOptions>).scheme !== undefined;

/** Returns the names of the valid options, which depend on whether `scheme` is set. */
const namesFor = (options: SignedDeliveryOptions | SchemeDeliveryOptions): readonly string[] =>
  hasScheme(options)
    ? ["scheme", "secret", "at", "deliveryId", "type", "headers"]
    : ["scheme", "secret", "deliveryId", "attempt", "headers"];
