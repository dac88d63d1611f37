import { sign, type Delivery, type HeaderValue, type SecretKey } from "@svc-webhooks/core";

export const secret = "whsec_test";

export type TestHeaders = Readonly<Record<string, HeaderValue>>;

/** A delivery that can be sent over HTTP or passed to `receive()`. */
export interface TestDelivery extends Delivery {
  readonly headers: TestHeaders;
  readonly body: Buffer;
}

export const eventBody = (type = "email.sent", more: object = {}): string =>
  JSON.stringify({ type, ...more });

/** A delivery as the service sends it (interface document, "Delivery headers"). Headers that are undefined are omitted. */
export async function signed(
  body: string | Uint8Array = eventBody(),
  headers: TestHeaders = {},
  key: SecretKey = secret,
): Promise<TestDelivery> {
  return unsigned(body, { "x-svc-signature": await sign(body, key), ...headers });
}

/** A delivery without a signature. */
export function unsigned(
  body: string | Uint8Array = eventBody(),
  headers: TestHeaders = {},
): TestDelivery {
  const all = {
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
