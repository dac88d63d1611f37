import type { Source } from "./bytes.js";
import { toHex } from "./hex.js";

/**
 * Resolves to the delivery id for a sender that sends none: the SHA-256 of the body in hex digits. Deliveries with the
 * same bytes are therefore duplicates.
 */
export const bodyId = async (bytes: Uint8Array): Promise<string> =>
  toHex(new Uint8Array(await crypto.subtle.digest("SHA-256", bytes as Source)));
