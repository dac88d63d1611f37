import { sign, type Delivery, type HeaderValue, type SecretKey } from "@svc-webhooks/core";

export const secret = "whsec_test";

/** Headers whose values are strings and `Value`s. */
type TestHeaders<Value> = Readonly<Record<string, Value | string>>;

/** A delivery that can be sent over HTTP or passed to `receive()`. */
export interface TestDelivery<Value extends HeaderValue = HeaderValue> extends Delivery {
  readonly headers: TestHeaders<Value>;
  readonly body: Buffer;
}

export const eventBody = (type = "email.sent", more: object = {}): string =>
  JSON.stringify({ type, ...more });

/**
 * Returns a delivery as the service sends it (interface document, "Delivery headers"). Headers that are
 * undefined are omitted.
 */
export async function signed<Value extends HeaderValue = string>(
  body: string | Uint8Array = eventBody(),
  headers: TestHeaders<Value> = {},
  key: SecretKey = secret,
): Promise<TestDelivery<Value>> {
  return unsigned(body, { "x-svc-signature": await sign(body, key), ...headers });
}

/** Returns a delivery without a signature. */
export function unsigned<Value extends HeaderValue = string>(
  body: string | Uint8Array = eventBody(),
  headers: TestHeaders<Value> = {},
): TestDelivery<Value> {
  const all: TestHeaders<Value> = {
    "content-type": "application/json",
    "x-svc-delivery-id": "dlv_1",
    ...headers,
  };
  return {
    method: "POST",
    headers: Object.fromEntries(Object.entries(all).filter(([, value]) => value !== undefined)),
    body: Buffer.from(body),
  };
}

/** A well-formed signature that no key produced. */
export const forgedSignature = `sha256=${"0".repeat(64)}`;
