import type { Source } from "./bytes.js";
import { toHex } from "./hex.js";

/**
 * Resolves to the delivery id for a sender that sends no ids: the SHA-256 of the body in hex digits. So a delivery with
 * the same bytes is a duplicate.
 */
export const bodyId = async (bytes: Uint8Array): Promise<string> =>
  toHex(new Uint8Array(await crypto.subtle.digest("SHA-256", bytes as Source)));
