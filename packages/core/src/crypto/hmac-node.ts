import { createHmac, createSecretKey, hash, timingSafeEqual } from "node:crypto";
import type { ImportHmac } from "../scheme.js";
import type { DescribeKeys, Fingerprint } from "./hmac.js";

// Both buffers are filled and compared synchronously, so all calls can share them.
const expected = Buffer.alloc(64);
const received = Buffer.alloc(64);

export const importKey: ImportHmac = (bytes) => {
  const key = createSecretKey(bytes);
  const sign = (body: Uint8Array) => createHmac("sha256", key).update(body).digest("hex");
  return {
    sign,
    verify(body, hex) {
      expected.write(sign(body), "latin1");
      // The length is checked, because fewer characters would leave digits of an earlier signature in the buffer.
      const isWhole = hex.length === 64 && received.write(hex.toLowerCase(), "latin1") === 64;
      return timingSafeEqual(expected, received) && isWhole;
    },
  };
};

export const fingerprint: Fingerprint = (data) => {
  // The digits are copied through the buffer, because a slice of the text would keep all 64 in memory for each record.
  expected.write(hash("sha256", data, "hex"), "latin1");
  return expected.toString("latin1", 0, 32);
};

/** The minimum length of a key whose fingerprint is printed, in bytes: a shorter key could be guessed from it. */
const shortestLabeled = 24;

export const describeKeys: DescribeKeys = (keys, now, body, signature, scheme) => {
  const described = keys.map(({ id, key, bytes, expiresAt }) => {
    const digest = (data: string | Uint8Array) =>
      createHmac("sha256", bytes).update(data).digest("hex");
    const label =
      bytes.length < shortestLabeled
        ? "short key"
        : digest("svc-webhooks fingerprint v1").slice(0, 8);
    const isExpired = expiresAt <= now;
    return [
      `${id}: ${label}`,
      !scheme && typeof key === "string" && !key.startsWith("whsec_") && "without whsec_",
      isExpired && `expired ${new Date(expiresAt).toISOString()}`,
      isExpired &&
        !scheme &&
        digest(body) === String(signature).toLowerCase() &&
        "and made this signature",
    ]
      .filter(Boolean)
      .join(", ");
  });
  return `Fingerprints of \`secret\`: ${described.join("; ")}`;
};
