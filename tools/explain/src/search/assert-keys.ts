import type { SecretKey } from "@svc-webhooks/core";
import { assertValid } from "@svc-webhooks/core/adapter";

/**
 * Asserts that the value of an option is a list of keys.
 *
 * @throws ConfigError `invalid_option` if it is not
 */
export function assertKeys(keys: readonly SecretKey[], option: string): void {
  assertValid(
    Array.isArray(keys) && keys.every((key) => typeof key === "string" || ArrayBuffer.isView(key)),
    option,
    `\`${option}\` must be a list of secrets, each a string or a Uint8Array.`,
  );
}
