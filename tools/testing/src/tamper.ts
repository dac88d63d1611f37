import type { SecretKey } from "@svc-webhooks/core";
import { assertValid } from "@svc-webhooks/core/adapter";
import { splitAtSignature } from "@svc-webhooks/schemes/senders";
import { assertDelivery } from "./assert-delivery.js";
import type { SignedDelivery } from "./delivery.js";
import { withField } from "./scheme-delivery.js";
import { signingOf, type Signing, type SigningValues } from "./signing.js";

interface SigningOptions {
  /**
   * The key that signs the changed body. Default: `"whsec_test"` for a delivery from the service, otherwise the secret
   * that signed the delivery. Errors: `invalid_secret` (as a rejection).
   */
  readonly secret?: SecretKey | undefined;
}

interface HugeOptions extends SigningOptions {
  /** The size to which the body is padded, in bytes. Default 2,097,152, twice a receiver's default limit. */
  readonly bytes?: number | undefined;
}

interface Change {
  /** Headers that are added to the delivery, or that replace its own. */
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

/**
 * Resolves to a copy of the delivery, with the body that `change` returns, signed again with `values`. If the sender
 * puts the time in the body, a new time is written there too.
 */
async function signed(
  delivery: SignedDelivery,
  values: SigningValues,
  change: (body: Uint8Array) => string | Uint8Array = (body) => body,
): Promise<SignedDelivery> {
  assertDelivery(delivery);
  const again = await signingOf(delivery).sign(bytesOf(change(delivery.body)), values);
  return changed(delivery, () => again);
}

/** Asserts that the sender allows a change. The error message ends in `lack`, such as `which does not sign a time`. */
function assertSender(ok: unknown, delivery: SignedDelivery, lack: string): asserts ok {
  const sender = signingOf(delivery).scheme ?? "the service";
  assertValid(ok, "delivery", `\`delivery\` comes from ${sender}, ${lack}.`);
}

/** Replaces the value of the signature header. If there is no such header, adds it with the value `change("")`. */
const withHeader = (
  delivery: SignedDelivery,
  change: (value: string, signing: Signing) => string,
): SignedDelivery =>
  changed(delivery, ({ headers }) => {
    const signing = signingOf(delivery);
    return { headers: { [signing.header]: change(headers[signing.header] ?? "", signing) } };
  });

/** Signs a delivery again, at a time `byMs` milliseconds after its signed time, or before it if `byMs` is negative. */
async function signedAway(delivery: SignedDelivery, byMs: number): Promise<SignedDelivery> {
  assertDelivery(delivery);
  const { at } = signingOf(delivery);
  assertSender(
    at !== undefined,
    delivery,
    "which does not sign a time. Pass a delivery from a sender that does, such as Stripe",
  );
  return signed(delivery, { at: at + byMs });
}

/** Replaces the signature header's value with `join(genuine, other)`. `other` is the value for another secret. */
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

/** One day and one second, in milliseconds. The largest tolerance that a scheme can have is one day. */
const beyondTolerance = 86_401_000;

/**
 * Functions that change a signed delivery, from the service or another sender. Each function returns, or resolves to, a
 * new delivery with one change. It can be sent with `receive()`, `fetch` and `node:http`.
 *
 * @throws ConfigError `invalid_option` (as a rejection if the function returns a promise) for anything but an
 *   awaited result of `signedDelivery`, and for a delivery that does not have the part to change, such as a signed time
 *
 * @example
 * ```ts
 * import assert from "node:assert/strict";
 * import { createReceiver } from "svc-webhooks";
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
  /** Signs the delivery again with `secret`. Default: a secret that is not the receiver's. */
  wrongSecret: async (delivery: SignedDelivery, secret?: SecretKey): Promise<SignedDelivery> => {
    assertDelivery(delivery);
    return signed(delivery, { secret: secret ?? (await signingOf(delivery).otherSecret()) });
  },

  /** Changes one bit in the middle of the body. If the body is empty, adds a byte. */
  flippedByte: (delivery: SignedDelivery): SignedDelivery =>
    changed(delivery, (original) => {
      const body = new Uint8Array(Math.max(1, original.body.length));
      body.set(original.body);
      const middle = body.length >> 1;
      body.set([(body[middle] ?? 0) ^ 1], middle);
      return { body };
    }),

  /** Removes the last byte of the body. */
  truncated: (delivery: SignedDelivery): SignedDelivery =>
    changed(delivery, ({ body }) => ({ body: body.subarray(0, -1) })),

  /**
   * Parses and re-serializes the body, as a proxy or a body parser would. The JSON is indented if the text would
   * otherwise stay the same.
   *
   * @throws SyntaxError if the body is not JSON
   */
  reserialized: (delivery: SignedDelivery): SignedDelivery =>
    changed(delivery, ({ body }) => {
      const text = decoded(body);
      const value: unknown = JSON.parse(text);
      const compact = JSON.stringify(value);
      return { body: compact === text ? `${JSON.stringify(value, null, 2)}\n` : compact };
    }),

  /** Writes the signature's hex digits in upper case. This project's receivers accept the signature. */
  upperCaseHex: (delivery: SignedDelivery): SignedDelivery =>
    withHeader(delivery, (value, { prefix, encoding }) => {
      assertSender(
        encoding === "hex",
        delivery,
        "whose signatures have no hex digits. Pass a delivery from a sender that uses hex, such as Stripe",
      );
      const [before, digits] = splitAtSignature(value, prefix);
      return before + digits.toUpperCase();
    }),

  /** Removes the signature's prefix, such as `sha256=`. */
  missingPrefix: (delivery: SignedDelivery): SignedDelivery =>
    withHeader(delivery, (value, { prefix }) => {
      assertSender(
        prefix,
        delivery,
        "whose signatures have no prefix. Pass a delivery from a sender that uses one, such as Stripe",
      );
      const [before, digits] = splitAtSignature(value, prefix);
      return before.slice(0, before.length - prefix.length) + digits;
    }),

  /** Removes the header with exactly this name; `signedDelivery` uses lower case. Default: the signature header. */
  missingHeader: (delivery: SignedDelivery, name?: string): SignedDelivery => {
    assertDelivery(delivery);
    const missing = name ?? signingOf(delivery).header;
    const others = Object.entries(delivery.headers).filter(([other]) => other !== missing);
    return { ...delivery, headers: Object.fromEntries(others) };
  },

  /**
   * Repeats the value of the header with exactly this name, as `value, value`. `fetch` cannot send a header on two
   * lines, and Node and the `Headers` class join two lines in this form (RFC 9110, section 5.3). Default: the signature
   * header.
   */
  duplicateHeader: (delivery: SignedDelivery, name?: string): SignedDelivery =>
    changed(delivery, ({ headers }) => {
      const repeated = name ?? signingOf(delivery).header;
      const value = headers[repeated] ?? "";
      return { headers: { [repeated]: `${value}, ${value}` } };
    }),

  /**
   * Adds a second value, made with another secret, to the signature header, as if the header had been sent twice:
   * `genuine, other`.
   */
  twoHeaders: (delivery: SignedDelivery): Promise<SignedDelivery> =>
    withOtherSignature(delivery, (genuine, other) => `${genuine}, ${other}`),

  /**
   * Adds a second signature, made with another secret, to the signature header's value, as a sender does while a secret
   * is rotated. Receivers accept the delivery. Only for senders that can send several signatures, such as Stripe.
   */
  extraSignature: async (delivery: SignedDelivery): Promise<SignedDelivery> => {
    assertDelivery(delivery);
    const { prefix, separator } = signingOf(delivery);
    assertSender(
      separator,
      delivery,
      "which sends one signature. Pass a delivery from a sender that can send several, such as Stripe",
    );
    return withOtherSignature(
      delivery,
      (genuine, other) => genuine + separator + prefix + splitAtSignature(other, prefix)[1],
    );
  },

  /**
   * Signs the delivery again, `byMs` milliseconds before its signed time. Default: just over a day.
   *
   * @throws SyntaxError (as a rejection) if the time is in the body, and the body is not JSON
   */
  stale: (delivery: SignedDelivery, byMs: number = beyondTolerance): Promise<SignedDelivery> =>
    signedAway(delivery, -byMs),

  /**
   * Signs the delivery again, `byMs` milliseconds after its signed time. Default: just over a day.
   *
   * @throws SyntaxError (as a rejection) if the time is in the body, and the body is not JSON
   */
  future: (delivery: SignedDelivery, byMs: number = beyondTolerance): Promise<SignedDelivery> =>
    signedAway(delivery, byMs),

  /**
   * Replaces the delivery id in the headers, as anyone who has captured a delivery can. Receivers accept the delivery,
   * unless the sender signs the header. Default `"dlv_forged"`. For senders whose ids are in the body, use `otherId`.
   */
  forgedDeliveryId: (delivery: SignedDelivery, deliveryId = "dlv_forged"): SignedDelivery =>
    changed(delivery, () => {
      const { idHeaders } = signingOf(delivery);
      assertSender(idHeaders.length > 0, delivery, "which has no id header. Use `otherId`");
      return { headers: Object.fromEntries(idHeaders.map((name) => [name, deliveryId])) };
    }),

  /**
   * Replaces the delivery id where the sender puts it, in a header or in the body, without signing again. If the sender
   * sends no id, so that a hash of the body is the id, adds a space to the body. Default `"dlv_forged"`.
   *
   * @throws SyntaxError if the id is in the body, and the body is not JSON
   */
  otherId: (delivery: SignedDelivery, deliveryId = "dlv_forged"): SignedDelivery =>
    changed(delivery, ({ body }) => {
      const { idHeaders, idField } = signingOf(delivery);
      const headers = Object.fromEntries(idHeaders.map((name) => [name, deliveryId]));
      if (idHeaders.length > 0) return { headers };
      if (idField === undefined) return { body: `${decoded(body)} ` };
      return { body: withField(body, idField, deliveryId) };
    }),

  /** Pads the body with spaces to a size of `bytes`, unless it is larger already, and signs it. */
  huge: (delivery: SignedDelivery, options?: HugeOptions): Promise<SignedDelivery> =>
    signed(delivery, { secret: options?.secret }, (original) => {
      const bytes = Math.max(options?.bytes ?? 2_097_152, original.length);
      const body = new Uint8Array(bytes).fill(0x20);
      body.set(original);
      return body;
    }),

  /** Replaces the body with text that is not JSON, and signs it. */
  notJson: (delivery: SignedDelivery, options?: SigningOptions): Promise<SignedDelivery> =>
    signed(delivery, { secret: options?.secret }, () => "not JSON"),
} as const;
