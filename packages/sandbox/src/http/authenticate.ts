import { createHash } from "node:crypto";
import type { AccountRule } from "../assumptions.js";
import { ApiError } from "../errors.js";
import { maskedKey } from "../lib/mask.js";
import type { AccountId } from "../state/records.js";

/** The account that all keys share, and the one of the sandbox's own page. */
export const sharedAccount: AccountId = "default";

export interface Identity {
  readonly id: AccountId;
  /** Stands for the API key, which is kept nowhere. */
  readonly key: string;
}

/** @throws ApiError 401 `authentication_required` */
export function authenticate(header: string | null, rule: AccountRule): Identity {
  // RFC 9110, section 11.1: the name of a scheme is case-insensitive.
  const key = /^Bearer +(\S+) *$/i.exec(header ?? "")?.[1];
  if (key === undefined || (rule.mode === "keys" && !rule.keys.includes(key))) {
    const text =
      key === undefined
        ? "Send Authorization: Bearer <API_KEY>."
        : "This API key is not known (A-23).";
    throw new ApiError(401, "authentication_required", text, {
      param: "Authorization",
      headers: { "WWW-Authenticate": "Bearer" },
    });
  }
  const hash = createHash("sha256").update(key).digest("base64url").slice(0, 22);
  return { id: rule.mode === "per-key" ? `key_${hash}` : sharedAccount, key: hash };
}

/** A request header as it is kept: without the API key, which some clients send without its scheme. */
export function masked(name: string, value: string): string {
  if (!/^(?:authorization|proxy-authorization|cookie|x-api-key)$/.test(name)) return value;
  const [, scheme = "", key = ""] = /^(Bearer |Basic )? *(.*)$/is.exec(value) ?? [];
  return scheme === "" ? "…" : `${scheme}${maskedKey(key)}`;
}
