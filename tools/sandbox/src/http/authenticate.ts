import type { AccountRule } from "../assumptions/table.js";
import { ApiError } from "../errors.js";
import { hashedKey } from "../lib/mask.js";
import type { AccountId } from "../state/records.js";

/**
 * The account that API keys share unless A-23 is `per-key`. Endpoints and test emails that the page or a control route
 * creates belong to it too.
 */
export const sharedAccount: AccountId = "default";

export interface Identity {
  readonly id: AccountId;
  /** A hash of the API key. The key itself is not stored. */
  readonly key: string;
}

/**
 * Returns the identity that belongs to the API key in an Authorization header.
 * @throws ApiError 401 `authentication_required`
 */
export function authenticate(header: string | null, rule: AccountRule): Identity {
  // The name of the scheme is case-insensitive (RFC 9110, section 11.1).
  const key = /^Bearer +(\S+) *$/i.exec(header ?? "")?.[1];
  const hash = key === undefined ? undefined : hashedKey(key);
  if (hash === undefined || (rule.mode === "keys" && !rule.keys.includes(hash))) {
    const text =
      hash === undefined
        ? "Send Authorization: Bearer <API_KEY>."
        : "This API key is unknown (A-23).";
    throw new ApiError(401, "authentication_required", text, {
      param: "Authorization",
      headers: { "WWW-Authenticate": "Bearer" },
    });
  }
  return { id: rule.mode === "per-key" ? `key_${hash}` : sharedAccount, key: hash };
}
