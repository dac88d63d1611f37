import { assertOptions, headerNames, sign, type SecretKey } from "@svc-webhooks/core";
import { eventBytes } from "./event-bytes.js";
import type { Signing } from "./signing.js";

export interface SignedDeliveryOptions {
  /** The key that signs the delivery. Default `"whsec_test"`. */
  readonly secret?: SecretKey | undefined;
  /** The value of `X-SVC-Delivery-Id` and `Idempotency-Key`. Default: a new id each time. */
  readonly deliveryId?: string | undefined;
  /** The value of `X-SVC-Attempt`, 1 or more. Default 1. */
  readonly attempt?: number | undefined;
  /** Additional headers, or other values for the headers above. Undefined omits a header. */
  readonly headers?: Readonly<Record<string, string | undefined>> | undefined;
}

export interface SignedRequestOptions extends SignedDeliveryOptions {
  /** The URL of the request. Default `https://example.org/webhooks`. */
  readonly url?: string | undefined;
}

/** A delivery as the service would send it (interface document, "Delivery headers"). */
export interface SignedDelivery {
  readonly method: "POST";
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Uint8Array<ArrayBuffer>;
  /**
   * How the delivery was signed, for `tamper`. Present if `signedDelivery` of `@svc-webhooks/testing/schemes` made it;
   * otherwise it is signed as the service signs. Receivers do not read it.
   */
  readonly signing?: Signing | undefined;
}

/**
 * Creates a delivery of `event`, signed as the service signs: `receiver.receive(await signedDelivery({
 * type: "email.sent" }))`. A string or bytes become the body unchanged; any other value is sent as JSON.
 *
 * @throws ReceiverConfigError (as a rejection) `invalid_secret`, `unknown_option`, or `invalid_option`, also for an
 *   event that is undefined or that JSON cannot represent, such as a function
 *
 * @example
 * ```ts
 * import assert from "node:assert/strict";
 * import { createReceiver } from "@svc-webhooks/core";
 * import { signedDelivery } from "@svc-webhooks/testing";
 *
 * const receiver = createReceiver({ secret: "whsec_test", on: { "*": () => {} } });
 *
 * const delivery = await signedDelivery({ type: "email.sent" });
 * assert.equal((await receiver.receive(delivery)).code, "processed");
 * assert.equal((await receiver.receive(delivery)).code, "duplicate");
 * ```
 */
export async function signedDelivery(
  event: unknown,
  options: SignedDeliveryOptions = {},
): Promise<SignedDelivery> {
  assertOptions(options, optionNames);
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
 * Creates the same delivery as a web-standard `Request`:
 * `receiver.fetch(await signedRequest({ type: "email.sent" }))`.
 *
 * @throws ReceiverConfigError (as a rejection) as `signedDelivery` does
 *
 * @example
 * ```ts
 * import assert from "node:assert/strict";
 * import { createReceiver } from "@svc-webhooks/core";
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
  options: SignedRequestOptions = {},
): Promise<Request> {
  assertOptions(options, [...optionNames, "url"]);
  const { url = "https://example.org/webhooks", ...others } = options;
  return new Request(url, await signedDelivery(event, others));
}

/** Omits the headers whose value is undefined. */
export const presentOnly = (
  headers: Readonly<Record<string, string | undefined>>,
): Readonly<Record<string, string>> =>
  Object.fromEntries(
    Object.entries(headers).flatMap(([name, value]) =>
      value === undefined ? [] : [[name, value]],
    ),
  );

const optionNames = ["secret", "deliveryId", "attempt", "headers"];

const newDeliveryId = () => `dlv_${crypto.randomUUID()}`;
