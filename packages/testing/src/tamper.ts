import { headerNames, sign, type SecretKey } from "@svc-webhooks/core";
import { assertDelivery } from "./assert-delivery.js";
import type { SignedDelivery } from "./signed-delivery.js";

interface SigningOptions {
  /** The key that signs the changed body. Default `"whsec_test"`. Errors: `invalid_secret` (as a rejection). */
  readonly secret?: SecretKey | undefined;
}

interface HugeOptions extends SigningOptions {
  /** The size of the body in bytes. Default 2,097,152, twice the default limit of a receiver. */
  readonly bytes?: number | undefined;
}

interface Change {
  /** Headers that are added to the delivery's own or replace them. */
  readonly headers?: object;
  readonly body?: string | Uint8Array;
}

function changed(
  delivery: SignedDelivery,
  change: (delivery: SignedDelivery) => Change,
): SignedDelivery {
  assertDelivery(delivery);
  const { headers, body } = change(delivery);
  return {
    ...delivery,
    ...(headers && { headers: { ...delivery.headers, ...headers } }),
    ...(body !== undefined && { body: bytesOf(body) }),
  };
}

const bytesOf = (body: string | Uint8Array) =>
  typeof body === "string" ? new TextEncoder().encode(body) : Uint8Array.from(body);

async function signed(
  delivery: SignedDelivery,
  change: (body: Uint8Array) => string | Uint8Array,
  secret: SecretKey = "whsec_test",
): Promise<SignedDelivery> {
  assertDelivery(delivery);
  const body = change(delivery.body);
  const headers = { [headerNames.signature]: await sign(body, secret) };
  return changed(delivery, () => ({ headers, body }));
}

/** Changes the signature, or adds one if there is none. */
const withSignature = (delivery: SignedDelivery, change: (signature: string) => string) =>
  changed(delivery, ({ headers }) => ({
    headers: { [headerNames.signature]: change(headers[headerNames.signature] ?? "") },
  }));

/**
 * Ways to change a signed delivery. Each returns a new delivery with one change, for `receive()`,
 * `fetch` and `node:http`.
 *
 * @throws ReceiverConfigError `invalid_option` (of those that return a promise, as a rejection) for
 *   anything but a delivery of `signedDelivery`, such as its promise
 *
 * @example
 * ```ts
 * import assert from "node:assert/strict";
 * import { createReceiver } from "@svc-webhooks/core";
 * import { fixture, signedDelivery, tamper } from "@svc-webhooks/testing";
 *
 * const receiver = createReceiver({
 *   secret: "whsec_test",
 *   on: { "*": () => {} },
 *   logger: { info() {}, warn() {}, error() {} },
 * });
 *
 * const delivery = await signedDelivery(fixture("email.sent"));
 * const { code } = await receiver.receive(tamper.flippedByte(delivery));
 * assert.equal(code, "signature_mismatch");
 * ```
 */
export const tamper = {
  /** Signs with another secret. */
  wrongSecret: (
    delivery: SignedDelivery,
    secret: SecretKey = "whsec_wrong",
  ): Promise<SignedDelivery> => signed(delivery, (body) => body, secret),

  /** Changes one bit in the middle of the body. If the body is empty, adds a byte. */
  flippedByte: (delivery: SignedDelivery): SignedDelivery =>
    changed(delivery, (given) => {
      const body = new Uint8Array(Math.max(1, given.body.length));
      body.set(given.body);
      const middle = body.length >> 1;
      body.set([(body[middle] ?? 0) ^ 1], middle);
      return { body };
    }),

  /** Removes the last byte of the body. */
  truncated: (delivery: SignedDelivery): SignedDelivery =>
    changed(delivery, ({ body }) => ({ body: body.subarray(0, -1) })),

  /**
   * Parses the body and serialises it again, as a proxy or a body parser would. If that does not change the
   * text, it is indented.
   *
   * @throws SyntaxError if the body is not JSON
   */
  reserialised: (delivery: SignedDelivery): SignedDelivery =>
    changed(delivery, ({ body }) => {
      const text = new TextDecoder().decode(body);
      const value: unknown = JSON.parse(text);
      const compact = JSON.stringify(value);
      return { body: compact === text ? `${JSON.stringify(value, null, 2)}\n` : compact };
    }),

  /** Writes the signature's digits in upper case, which this project's receivers accept. */
  upperCaseHex: (delivery: SignedDelivery): SignedDelivery =>
    withSignature(delivery, (signature) => signature.toUpperCase().replace("SHA", "sha")),

  /** Removes `sha256=` from the signature. */
  missingPrefix: (delivery: SignedDelivery): SignedDelivery =>
    withSignature(delivery, (signature) => signature.replace(/^sha256=/, "")),

  /** Removes the header with this lower-case name. Default: the signature header. */
  missingHeader: (
    delivery: SignedDelivery,
    name: string = headerNames.signature,
  ): SignedDelivery => {
    assertDelivery(delivery);
    const others = Object.entries(delivery.headers).filter(([other]) => other !== name);
    return { ...delivery, headers: Object.fromEntries(others) };
  },

  /**
   * Repeats a header, by its lower-case name, as `value, value`. `fetch` cannot send another form, and Node and the
   * `Headers` class combine two lines into this one (RFC 9110, section 5.3). Default: the signature.
   */
  duplicateHeader: (
    delivery: SignedDelivery,
    name: string = headerNames.signature,
  ): SignedDelivery =>
    changed(delivery, ({ headers: { [name]: value = "" } }) => ({
      headers: { [name]: `${value}, ${value}` },
    })),

  /** Replaces the unsigned delivery id, as anyone who has captured a delivery can. Default `"dlv_forged"`. */
  forgedDeliveryId: (delivery: SignedDelivery, deliveryId = "dlv_forged"): SignedDelivery =>
    changed(delivery, () => ({
      headers: { [headerNames.deliveryId]: deliveryId, [headerNames.idempotencyKey]: deliveryId },
    })),

  /** Pads the body with spaces to `bytes`, and signs it. */
  huge: (
    delivery: SignedDelivery,
    { bytes = 2_097_152, secret }: HugeOptions = {},
  ): Promise<SignedDelivery> =>
    signed(
      delivery,
      (given) => {
        const body = new Uint8Array(Math.max(bytes, given.length)).fill(0x20);
        body.set(given);
        return body;
      },
      secret,
    ),

  /** Replaces the body with text that is not JSON, and signs it. */
  notJson: (delivery: SignedDelivery, { secret }: SigningOptions = {}): Promise<SignedDelivery> =>
    signed(delivery, () => "not JSON", secret),
} as const;
