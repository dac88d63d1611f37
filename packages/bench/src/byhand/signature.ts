import { createHmac, timingSafeEqual } from "node:crypto";

/** The check that everything else is measured against: as short as it can be and still right. */
export function isGenuine(body: Uint8Array, signature: string, secret: string): boolean {
  const given = Buffer.from(signature.slice("sha256=".length), "hex");
  const expected = createHmac("sha256", secret).update(body).digest();
  return given.length === expected.length && timingSafeEqual(given, expected);
}
