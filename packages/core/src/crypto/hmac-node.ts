import { createHmac, createSecretKey, hash, timingSafeEqual } from "node:crypto";
import type { DescribeKeys, Fingerprint, ImportKey } from "./hmac.js";

// Both buffers are filled and compared synchronously, so all calls can share them.
const expected = Buffer.alloc(64);
const given = Buffer.alloc(64);

export const importKey: ImportKey = (bytes) => {
  const key = createSecretKey(bytes);
  const sign = (body: Uint8Array) => createHmac("sha256", key).update(body).digest("hex");
  return {
    sign,
    verify(body, hex) {
      expected.write(sign(body), "latin1");
      given.write(hex.toLowerCase(), "latin1");
      return timingSafeEqual(expected, given);
    },
  };
};

export const fingerprint: Fingerprint = (data) => {
  // A slice of the text would keep all 64 digits in memory, one per record.
  expected.write(hash("sha256", data, "hex"), "latin1");
  return expected.toString("latin1", 0, 32);
};

/** The minimum length of a key that cannot be guessed from its fingerprint, in bytes. */
const shortestLabelled = 24;

export const describeKeys: DescribeKeys = (keys, now, body, hex) => {
  const described = keys.map(({ id, key, bytes, expiresAt }) => {
    const digest = (data: string | Uint8Array) =>
      createHmac("sha256", bytes).update(data).digest("hex");
    const label =
      bytes.length < shortestLabelled
        ? "short key"
        : digest("svc-webhooks fingerprint v1").slice(0, 8);
    const isExpired = expiresAt <= now;
    return [
      `${id}: ${label}`,
      typeof key === "string" && !key.startsWith("whsec_") && "without whsec_",
      isExpired && `expired ${new Date(expiresAt).toISOString()}`,
      isExpired && digest(body) === hex.toLowerCase() && "and made this signature",
    ]
      .filter(Boolean)
      .join(", ");
  });
  return `Fingerprints of \`secret\`: ${described.join("; ")}`;
};
