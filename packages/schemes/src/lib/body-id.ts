import type { Source } from "./bytes.js";
import { toHex } from "./hex.js";

/**
 * Resolves to the delivery id of a sender without ids: the SHA-256 of the body in hex digits. A delivery with
 * equal bytes is a duplicate.
 */
export const bodyId = async (bytes: Uint8Array): Promise<string> =>
  toHex(new Uint8Array(await crypto.subtle.digest("SHA-256", bytes as Source)));
