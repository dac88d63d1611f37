import { createHmac } from "node:crypto";
import { expect, test } from "vitest";
import { fingerprint } from "../src/index.js";

test("is the start of an HMAC, the same for a text and for its bytes", async () => {
  const secret = "whsec_0123456789abcdef0123456789abcdef";
  const expected = createHmac("sha256", secret).update("svc-webhooks fingerprint v1").digest("hex");
  expect(await fingerprint(secret)).toBe(expected.slice(0, 8));
  expect(await fingerprint(new TextEncoder().encode(secret))).toBe(expected.slice(0, 8));
});

test("is not made of a key that could be guessed from it", async () => {
  expect(await fingerprint("k".repeat(23))).toBe("short key");
  expect(await fingerprint("k".repeat(24))).toMatch(/^[0-9a-f]{8}$/);
});

test("of a value that is not a secret rejects", async () => {
  await expect(fingerprint("")).rejects.toMatchObject({ code: "invalid_secret" });
});
