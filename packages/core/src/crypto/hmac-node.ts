import { createHmac, createSecretKey, hash, timingSafeEqual } from "node:crypto";
import type { Fingerprint, ImportKey } from "./hmac.js";

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
