import { assertValid, type SecretKey } from "@svc-webhooks/core";
import { splitAtSignature } from "@svc-webhooks/schemes/senders";
import { assertDelivery } from "./assert-delivery.js";
import type { SignedDelivery } from "./delivery.js";
import { signingOf, type Signing, type SigningValues } from "./signing.js";

interface SigningOptions {
  /**
   * The key that signs the changed body. Default: the secret of the delivery if another sender signed it, otherwise
   * `"whsec_test"`. Errors: `invalid_secret` (as a rejection).
   */
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

/** Signs the body again, with the values that are given. */
async function signed(
  delivery: SignedDelivery,
  values: SigningValues,
  change: (body: Uint8Array) => string | Uint8Array = (body) => body,
): Promise<SignedDelivery> {
  assertDelivery(delivery);
  const again = await signingOf(delivery).sign(bytesOf(change(delivery.body)), values);
  return changed(delivery, () => again);
}

/** Asserts that the sender of a delivery has what a change needs. */
function assertSender(ok: unknown, delivery: SignedDelivery, lack: string): asserts ok {
  const sender = signingOf(delivery).scheme ?? "the service";
  assertValid(ok, "delivery", `\`delivery\` comes from ${sender}, ${lack}.`);
}

/** Changes the header with the signature, or adds one. */
const withHeader = (
  delivery: SignedDelivery,
  change: (value: string, signing: Signing) => string,
): SignedDelivery =>
  changed(delivery, ({ headers }) => {
    const signing = signingOf(delivery);
    return { headers: { [signing.header]: change(headers[signing.header] ?? "", signing) } };
  });

/** Signs again at a time that is `byMs` away from the signed one. */
async function signedAway(delivery: SignedDelivery, byMs: number): Promise<SignedDelivery> {
  assertDelivery(delivery);
  const { at } = signingOf(delivery);
  assertSender(at !== undefined, delivery, "which does not sign a time");
  return signed(delivery, { at: at + byMs });
}

/** Signs again with another secret, and joins both signature headers. */
async function withOtherSignature(
  delivery: SignedDelivery,
  join: (genuine: string, other: string) => string,
): Promise<SignedDelivery> {
  assertDelivery(delivery);
  const { header, otherSecret } = signingOf(delivery);
  const { headers } = await signed(delivery, { secret: await otherSecret() });
  return withHeader(delivery, (value) => join(value, headers[header] ?? ""));
}

const decoded = (body: Uint8Array) => new TextDecoder().decode(body);

/** More than the largest tolerance of a scheme, which is a day, in milliseconds. */
const beyondTolerance = 86_401_000;

/**
 * Ways to change a signed delivery from the service or another sender. Each returns a new delivery with one
 * change, for `receive()`, `fetch` and `node:http`.
 *
 * @throws ReceiverConfigError `invalid_option` (of those that return a promise, as a rejection) for
 *   anything but a delivery of `signedDelivery`, such as its promise, and for a delivery that lacks the part to
 *   change, such as a signed time
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
  wrongSecret: async (delivery: SignedDelivery, secret?: SecretKey): Promise<SignedDelivery> => {
    assertDelivery(delivery);
    return signed(delivery, { secret: secret ?? (await signingOf(delivery).otherSecret()) });
  },

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
      const text = decoded(body);
      const value: unknown = JSON.parse(text);
      const compact = JSON.stringify(value);
      return { body: compact === text ? `${JSON.stringify(value, null, 2)}\n` : compact };
    }),

  /** Writes the signature's hex digits in upper case, which this project's receivers accept. */
  upperCaseHex: (delivery: SignedDelivery): SignedDelivery =>
    withHeader(delivery, (value, { prefix, encoding }) => {
      assertSender(encoding === "hex", delivery, "whose signatures have no hex digits");
      const [before, digits] = splitAtSignature(value, prefix);
      return before + digits.toUpperCase();
    }),

  /** Removes the prefix from the signature, such as `sha256=`. */
  missingPrefix: (delivery: SignedDelivery): SignedDelivery =>
    withHeader(delivery, (value, { prefix }) => {
      assertSender(prefix, delivery, "whose signatures have no prefix");
      const [before, digits] = splitAtSignature(value, prefix);
      return before.slice(0, before.length - prefix.length) + digits;
    }),

  /** Removes the header with this lower-case name. Default: the signature header. */
  missingHeader: (delivery: SignedDelivery, name?: string): SignedDelivery => {
    assertDelivery(delivery);
    const missing = name ?? signingOf(delivery).header;
    const others = Object.entries(delivery.headers).filter(([other]) => other !== missing);
    return { ...delivery, headers: Object.fromEntries(others) };
  },

  /**
   * Repeats a header, by its lower-case name, as `value, value`. `fetch` cannot send another form, and Node and the
   * `Headers` class combine two lines into this one (RFC 9110, section 5.3). Default: the signature.
   */
  duplicateHeader: (delivery: SignedDelivery, name?: string): SignedDelivery =>
    changed(delivery, ({ headers }) => {
      const repeated = name ?? signingOf(delivery).header;
      const value = headers[repeated] ?? "";
      return { headers: { [repeated]: `${value}, ${value}` } };
    }),

  /** Adds a second signature header, made with another secret: `genuine, other`. */
  twoHeaders: (delivery: SignedDelivery): Promise<SignedDelivery> =>
    withOtherSignature(delivery, (genuine, other) => `${genuine}, ${other}`),

  /**
   * Adds a second signature, made with another secret, to the header, as a sender does while a secret is
   * rotated. Receivers accept it. Only for senders that send several signatures, such as Stripe.
   */
  extraSignature: async (delivery: SignedDelivery): Promise<SignedDelivery> => {
    assertDelivery(delivery);
    const { prefix, separator } = signingOf(delivery);
    assertSender(separator, delivery, "which sends one signature");
    return withOtherSignature(
      delivery,
      (genuine, other) => genuine + separator + prefix + splitAtSignature(other, prefix)[1],
    );
  },

  /** Signs at an earlier time: `byMs` before the signed time, by default just over a day. */
  stale: (delivery: SignedDelivery, byMs: number = beyondTolerance): Promise<SignedDelivery> =>
    signedAway(delivery, -byMs),

  /** Signs at a later time: `byMs` after the signed time, by default just over a day. */
  future: (delivery: SignedDelivery, byMs: number = beyondTolerance): Promise<SignedDelivery> =>
    signedAway(delivery, byMs),

  /**
   * Replaces the delivery id in a header, as anyone who has captured a delivery can. Receivers accept it, unless the
   * sender signs the header. Default `"dlv_forged"`. See `otherId` for senders whose ids are in the body.
   */
  forgedDeliveryId: (delivery: SignedDelivery, deliveryId = "dlv_forged"): SignedDelivery =>
    changed(delivery, () => {
      const { idHeaders } = signingOf(delivery);
      assertSender(idHeaders.length > 0, delivery, "which has no header for the id. Use otherId");
      return { headers: Object.fromEntries(idHeaders.map((name) => [name, deliveryId])) };
    }),

  /**
   * Gives the delivery another id without signing again, wherever the sender puts it: in a header, or in the
   * body. If the id is the hash of the body, a space is added to the body. Default `"dlv_forged"`.
   *
   * @throws SyntaxError if the id is in the body, and the body is not JSON
   */
  otherId: (delivery: SignedDelivery, deliveryId = "dlv_forged"): SignedDelivery =>
    changed(delivery, ({ body }) => {
      const { idHeaders, idField } = signingOf(delivery);
      const headers = Object.fromEntries(idHeaders.map((name) => [name, deliveryId]));
      if (idHeaders.length > 0) return { headers };
      const text = decoded(body);
      if (idField === undefined) return { body: `${text} ` };
      const { [idField]: id } = JSON.parse(text) as Readonly<Record<string, unknown>>;
      return { body: text.replace(JSON.stringify(id), () => JSON.stringify(deliveryId)) };
    }),

  /** Pads the body with spaces to `bytes`, and signs it. */
  huge: (
    delivery: SignedDelivery,
    { bytes = 2_097_152, secret }: HugeOptions = {},
  ): Promise<SignedDelivery> =>
    signed(delivery, { secret }, (given) => {
      const body = new Uint8Array(Math.max(bytes, given.length)).fill(0x20);
      body.set(given);
      return body;
    }),

  /** Replaces the body with text that is not JSON, and signs it. */
  notJson: (delivery: SignedDelivery, { secret }: SigningOptions = {}): Promise<SignedDelivery> =>
    signed(delivery, { secret }, () => "not JSON"),
} as const;
