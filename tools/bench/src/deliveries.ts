import { createHmac, randomUUID } from "node:crypto";

export const secret = "whsec_0123456789abcdef0123456789abcdef";
export const eventType = "email.delivered";

/** A delivery as a server passes it to a receiver. */
export interface Delivered {
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Body;
}

export type Body = Buffer<ArrayBuffer>;

/**
 * Creates a JSON event of exactly `bytes` bytes: the fields of an email event, padded with text. `bytes` must be at
 * least 512.
 */
export function bodyOf(bytes: number): Body {
  const event = {
    id: "evt_01jd8x3v9k",
    type: eventType,
    created_at: "2026-11-21T08:30:00.000Z",
    data: {
      email_id: "em_5f2c8a17",
      from: "Orders <orders@shop.example>",
      to: ["customer@mail.example"],
      subject: "Your order 10-2231 is on its way",
      tags: { order: "10-2231", campaign: "none", attempts: 1, latency_ms: 812 },
    },
    text: "",
  };
  const missing = bytes - JSON.stringify(event).length;
  const words = "Thank you for your order, it has left our house today. ";
  event.text = words.repeat(Math.ceil(missing / words.length)).slice(0, missing);
  return Buffer.from(JSON.stringify(event));
}

export const signatureOf = (body: Uint8Array, key: string): string =>
  `sha256=${createHmac("sha256", key).update(body).digest("hex")}`;

/** Returns the service's headers. The signature covers only the body, so it is valid with any id. */
export const headersOf = (signature: string, id: string): Record<string, string> => ({
  "content-type": "application/json",
  "x-svc-signature": signature,
  "x-svc-delivery-id": id,
  "idempotency-key": id,
  "x-svc-attempt": "1",
});

// Uses a counter, because a random id per delivery would take about as much time as the routing in a receiver.
const prefix = `dlv_${randomUUID().slice(0, 24)}`;
let nextNumber = 1e11;

/** Returns a function that creates genuine deliveries of one event, each with a new id. */
export function deliveriesOf(bytes: number): () => Delivered {
  const body = bodyOf(bytes);
  const signature = signatureOf(body, secret);
  return () => ({ headers: headersOf(signature, `${prefix}${nextNumber++}`), body });
}
