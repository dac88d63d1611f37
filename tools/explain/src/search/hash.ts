import { concat, toHex, type Bytes } from "./bytes.js";
import type { MistakeId } from "../mistakes.js";
import type { Hash } from "./value.js";

/** A way to compute a digest from a key and a body, and the mistakes that it represents. */
export interface Method {
  readonly ids: readonly MistakeId[];
  readonly hash: Hash;
  /** Whether the digest depends on the key. */
  readonly keyed: boolean;
  readonly digest: (key: Bytes, body: Bytes) => Promise<ArrayBuffer>;
}

const names = { sha256: "SHA-256", sha1: "SHA-1", sha512: "SHA-512" } as const;

function importKey(hash: Hash, key: Bytes) {
  // WebCrypto rejects an empty key. HMAC pads keys with zeros (RFC 2104, section 2), so a single zero byte is
  // equivalent.
  const bytes = key.length > 0 ? key : new Uint8Array(1);
  return crypto.subtle.importKey("raw", bytes, { name: "HMAC", hash: names[hash] }, false, [
    "sign",
  ]);
}

/** Resolves to the HMAC of a body. */
export const hmacOf = async (hash: Hash, key: Bytes, body: Bytes): Promise<ArrayBuffer> =>
  crypto.subtle.sign("HMAC", await importKey(hash, key), body);

/** Resolves to the SHA-256 of a body as hexadecimal digits. */
export const sha256Hex = async (body: Bytes): Promise<string> =>
  toHex(new Uint8Array(await crypto.subtle.digest("SHA-256", body)));

/** Returns the HMAC method for a hash. Each key is imported once, because it is used with thousands of bodies. */
function hmac(hash: Hash, ids: readonly MistakeId[]): Method {
  const imported = new WeakMap<Bytes, ReturnType<typeof importKey>>();
  return {
    ids,
    hash,
    keyed: true,
    async digest(key, body) {
      const promise = imported.get(key) ?? importKey(hash, key);
      imported.set(key, promise);
      return crypto.subtle.sign("HMAC", await promise, body);
    },
  };
}

const plain = (hash: Hash): Method => ({
  ids: ["plain_hash"],
  hash,
  keyed: false,
  digest: (_key, body) => crypto.subtle.digest(names[hash], body),
});

const joined = (inOrder: (key: Bytes, body: Bytes) => readonly [Bytes, Bytes]): Method => ({
  ids: ["concatenated_hash"],
  hash: "sha256",
  keyed: true,
  digest(key, body) {
    return crypto.subtle.digest("SHA-256", concat(...inOrder(key, body)));
  },
});

/**
 * Returns all methods, the correct one first. The methods cache the keys that they import, so each search needs a new
 * list.
 */
export const methods = (): readonly Method[] => [
  hmac("sha256", []),
  hmac("sha1", ["sha1"]),
  hmac("sha512", ["sha512"]),
  {
    ids: ["swapped"],
    hash: "sha256",
    keyed: true,
    digest: async (key, body) => hmacOf("sha256", body, key),
  },
  plain("sha256"),
  plain("sha1"),
  plain("sha512"),
  joined((key, body) => [key, body]),
  joined((key, body) => [body, key]),
];
