import { utf8 } from "../lib/bytes.js";
import type { ImportHmac } from "../scheme.js";
import type { DescribeKeys, Fingerprint } from "./hmac.js";

const algorithm = { name: "HMAC", hash: "SHA-256" };

// WebCrypto's types exclude views of shared memory. The casts are safe: no request body is such a view.
type Source = Uint8Array<ArrayBuffer>;

const toHex = (bytes: ArrayBuffer) =>
  Array.from(new Uint8Array(bytes), (byte) => byte.toString(16).padStart(2, "0")).join("");

const fromHex = (hex: string) =>
  Uint8Array.from(hex.match(/../g) ?? [], (pair) => parseInt(pair, 16));

export const importKey: ImportHmac = async (bytes) => {
  const key = await crypto.subtle.importKey("raw", bytes as Source, algorithm, false, [
    "sign",
    "verify",
  ]);
  return {
    sign: async (body) => toHex(await crypto.subtle.sign("HMAC", key, body as Source)),
    verify: (body, hex) =>
      /^[\da-f]{64}$/i.test(hex) && crypto.subtle.verify("HMAC", key, fromHex(hex), body as Source),
  };
};

export const fingerprint: Fingerprint = async (data) => {
  const bytes = typeof data === "string" ? utf8(data) : data;
  // Slices the bytes and not the text, because a slice of the text would keep all digits in memory.
  return toHex((await crypto.subtle.digest("SHA-256", bytes as Source)).slice(0, 16));
};

export const describeKeys: DescribeKeys = () => "";
