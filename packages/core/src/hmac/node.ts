import { createHmac, createSecretKey, hash, timingSafeEqual } from "node:crypto";
import type { ImportKey, Fingerprint } from "./contract.js";

export const importKey: ImportKey = (bytes) => {
  const key = createSecretKey(bytes);
  const hmac = (body: Uint8Array) => createHmac("sha256", key).update(body);
  return {
    sign: (body) => hmac(body).digest("hex"),
    verify: (body, hex) => timingSafeEqual(hmac(body).digest(), Buffer.from(hex, "hex")),
  };
};

export const fingerprint: Fingerprint = (data) => hash("sha256", data, "hex").slice(0, 32);
