import { createHmac } from "node:crypto";
import { signedDelivery, type SignedDelivery } from "@svc-webhooks/testing";

export const secret = "whsec_0123456789abcdef0123456789abcdef";
export const eventType = "email.delivered";

/** An event whose body has exactly `bytes` bytes, 512 or more: fields as a mail event has them, then text. */
export function eventOf(bytes: number): Record<string, unknown> {
  const event = {
    id: "evt_01jd8x3v9k",
    type: eventType,
    created_at: "2026-11-21T08:30:00.000Z",
    data: {
      email_id: "em_5f2c8a17",
      from: "Orders <orders@shop.example>",
      to: ["customer@mail.example"],
      subject: "Your order 10-2231 is on its way",
      tags: { order: "10-2231", campaign: "none" },
      attempts: 1,
      latency_ms: 812,
    },
    text: "",
  };
  const missing = bytes - JSON.stringify(event).length;
  if (missing < 0) throw new RangeError(`an event has at least ${bytes - missing} bytes`);
  const words = "Thank you for your order, it has left our house today. ";
  event.text = words.repeat(Math.ceil(missing / words.length)).slice(0, missing);
  return event;
}

/** The signature header of a body. */
export const signatureOf = (body: Uint8Array, key: string): string =>
  `sha256=${createHmac("sha256", key).update(body).digest("hex")}`;

/** A genuine delivery with a body of `bytes` bytes. The id is not signed: every copy may have its own. */
export const deliveryOf = (bytes: number, deliveryId = "dlv_bench"): Promise<SignedDelivery> =>
  signedDelivery(eventOf(bytes), { secret, deliveryId });
