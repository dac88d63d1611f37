import { ConfigError } from "./errors.js";
import type { Receiver } from "./receiver.js";
import { assertOption } from "./texts/assert.js";

export { assertOptions } from "./texts/assert.js";

/**
 * For adapters and stores: throws unless `ok`, which states whether the value of `option` is valid. `text` states the
 * cause and the fix in whole sentences. The error appends the link to the page of errors.
 *
 * @throws ConfigError `invalid_option`
 *
 * @example
 * ```ts
 * import assert from "node:assert/strict";
 * import { assertValid } from "svc-webhooks/adapter";
 *
 * const prefix: unknown = 5;
 * const check = () => assertValid(typeof prefix === "string", "prefix", "`prefix` must be a string.");
 * assert.throws(check, { code: "invalid_option", option: "prefix" });
 * ```
 */
export function assertValid(ok: unknown, option: string, text: string): asserts ok {
  if (!ok) throw new ConfigError("invalid_option", option, text);
}

/**
 * For adapters: asserts that `value` is a receiver, that is, has a function `receive`. Call it in `webhooks(value)`
 * itself, not in the handler that it returns, so that a mistake is reported when the app starts.
 *
 * @throws ConfigError `invalid_option`, for example for options in place of a receiver
 *
 * @example
 * ```ts
 * import assert from "node:assert/strict";
 * import { createReceiver } from "svc-webhooks";
 * import { assertReceiver } from "svc-webhooks/adapter";
 *
 * assertReceiver(createReceiver({ secret: process.env.SVC_WEBHOOK_SECRET ?? "", on: { "*": () => {} } }));
 * assert.throws(() => assertReceiver(undefined), { code: "invalid_option", option: "receiver" });
 * ```
 */
export function assertReceiver(value: unknown): asserts value is Pick<Receiver, "receive"> {
  const { receive } = Object(value) as Partial<Receiver>;
  assertOption(typeof receive === "function", "invalid_option", "receiver", value);
}
