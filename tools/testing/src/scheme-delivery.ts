import { ConfigError } from "@svc-webhooks/core";
import { assertValid } from "@svc-webhooks/core/adapter";
import {
  senders,
  type BodyValues,
  type Sender,
  type SenderName,
  type SignOptions,
} from "@svc-webhooks/schemes/senders";
import { newDeliveryId, presentOnly, type SignedDelivery } from "./delivery.js";
import { eventBytes } from "./event-bytes.js";
import type { Signing } from "./signing.js";

/** The options for a delivery from a sender other than the service. */
export interface SchemeDeliveryOptions {
  /** The name of the sender, such as `"stripe"` or `"github"`: a key of `senders`. Errors: `invalid_option`. */
  readonly scheme: SenderName;
  /** The key that signs the delivery: the receiver's secret or, if the keys differ, the sender's private key. */
  readonly secret: string;
  /** The time of signing, in epoch milliseconds. Default: now. */
  readonly at?: number | undefined;
  /** The delivery id. Sent in a header or, unless the event has its own, in the body. Default: a new id each time. */
  readonly deliveryId?: string | undefined;
  /** The type. Sent in a header or, unless the event has its own, in the body. Default: a type of the sender's. */
  readonly type?: string | undefined;
  /** Headers that are added to the sender's, or that replace them. Undefined omits a header. */
  readonly headers?: Readonly<Record<string, string | undefined>> | undefined;
}

/** Creates a delivery of `event` as the sender `scheme` would send it. */
export async function schemeDelivery(
  event: unknown,
  options: SchemeDeliveryOptions,
): Promise<SignedDelivery> {
  const { scheme, secret, headers } = options;
  const values = valuesOf(options);
  const body = eventBytes(completedEvent(event, { scheme, ...values }));
  const signing = signingOf(options, values);
  const signed = await signing.sign(body, { secret });
  return {
    method: "POST",
    headers: presentOnly({ "content-type": "application/json", ...signed.headers, ...headers }),
    body,
    signing,
  };
}

/**
 * Returns the sender with this name.
 *
 * @throws ConfigError `invalid_option` if there is no sender with this name
 */
export function senderOf(scheme: SenderName): Sender {
  const names = Object.keys(senders).join(", ");
  assertValid(Object.hasOwn(senders, scheme), "scheme", `\`scheme\` must be one of ${names}.`);
  return senders[scheme];
}

function valuesOf({ scheme, ...options }: SchemeDeliveryOptions): BodyValues {
  const { at = Date.now(), deliveryId = newDeliveryId() } = options;
  assertValid(
    Number.isFinite(at),
    "at",
    "`at` must be a time in epoch milliseconds, such as Date.now().",
  );
  return { at, deliveryId, type: options.type ?? senderOf(scheme).type };
}

/** Adds to an object the members that the sender's bodies have and it lacks. Returns other values unchanged. */
export const completedEvent = (
  event: unknown,
  { scheme, ...values }: BodyValues & { readonly scheme: SenderName },
): unknown =>
  // Compares the tag instead of the class, because edge runtimes may have several `Object` classes.
  Object.prototype.toString.call(event) === "[object Object]"
    ? senderOf(scheme).complete(event as Readonly<Record<string, unknown>>, values)
    : event;

function signingOf({ scheme, secret }: SchemeDeliveryOptions, values: BodyValues): Signing {
  const sender = senderOf(scheme);
  const { form, isTimed, timeField } = sender;
  return {
    ...form,
    scheme,
    at: isTimed ? values.at : undefined,
    otherSecret: async () => (await sender.testKeys()).signingSecret,
    async sign(bytes, { secret: other = secret, at }) {
      assertValid(typeof other === "string", "secret", "`secret` must be a string.");
      const body = at !== undefined && timeField ? withField(bytes, timeField, at) : bytes;
      const signing = { ...values, ...(at !== undefined && { at }), secret: other };
      return { headers: await headersOf(sender, body, signing), body };
    },
  };
}

async function headersOf({ name, sign }: Sender, body: Uint8Array, signing: SignOptions) {
  try {
    return await sign(body, signing);
  } catch {
    // Replaces the error, because an error of WebCrypto names neither the option nor a way to get a valid key.
    const text = `\`secret\` is not a key that can sign for ${name}. \`senders["${name}"].testKeys()\` generates one.`;
    throw new ConfigError("invalid_secret", "secret", text);
  }
}

/**
 * Returns a copy of a JSON body, with `value` in the field `field`.
 *
 * @throws SyntaxError if the body is not JSON
 * @throws ConfigError `invalid_option` if the body is not an object with this field
 */
export function withField(body: Uint8Array, field: string, value: string | number): Uint8Array {
  const members = Object(JSON.parse(new TextDecoder().decode(body))) as object;
  const text = `The body of \`delivery\` has no field \`${field}\`. Sign an event that has it.`;
  assertValid(Object.hasOwn(members, field), "delivery", text);
  return new TextEncoder().encode(JSON.stringify({ ...members, [field]: value }));
}
