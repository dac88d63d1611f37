import type { Scheme, SecretKey } from "@svc-webhooks/core";
import { createHmac } from "node:crypto";
import type { TestDelivery } from "./deliveries.js";

interface TestClaim {
  readonly time: string;
  readonly hex: string;
}

/** How far the signed time of `testScheme` may be from the receiver's clock. */
export const toleranceMs = 300_000;

/**
 * A scheme in the smallest form: `x-test-signature` is the HMAC of the milliseconds in `x-test-time` and the body,
 * and the body has the delivery id. A body with `ping` only tests the endpoint.
 */
export const testScheme: Scheme<TestClaim> = {
  name: "test",
  headers: ["x-test-signature", "x-test-time"],
  form: "<64 hex digits>",
  inspect(header, receivedAt) {
    const hex = header("x-test-signature");
    const time = header("x-test-time");
    if (!hex) return { problem: "signature_missing" };
    if (!/^[\da-f]{64}$/.test(hex)) return { problem: "signature_malformed" };
    return Math.abs(receivedAt - Number(time)) > toleranceMs
      ? { problem: "signature_stale", hint: `signed at ${Number(time)}` }
      : { claim: { time, hex } };
  },
  async importKey(key, hmac) {
    const imported = await hmac(key);
    return {
      verify: (body, { time, hex }) =>
        imported.verify(Buffer.concat([Buffer.from(time), body]), hex),
    };
  },
  identify: ({ body }) =>
    body?.["ping"] === undefined ? { deliveryId: body?.["id"] as string } : { code: "handshake" },
};

/** Returns a delivery as the sender of `testScheme` sends it. */
export function schemeDelivery(
  body: object | string = { id: "evt_1", type: "invoice.paid" },
  { secret = "test key", at = Date.now() }: { secret?: SecretKey; at?: number } = {},
): TestDelivery<string> {
  const bytes = Buffer.from(typeof body === "string" ? body : JSON.stringify(body));
  const signature = createHmac("sha256", secret).update(String(at)).update(bytes).digest("hex");
  return {
    method: "POST",
    headers: {
      "content-type": "application/json",
      "x-test-signature": signature,
      "x-test-time": String(at),
    },
    body: bytes,
  };
}
