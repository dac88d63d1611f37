import { assertOption } from "./lib/assert.js";
import type { Receiver } from "./receiver.js";

export { assertOptions } from "./lib/assert.js";

/**
 * For adapters: asserts that `value` can receive deliveries. Call it where `webhooks(value)` is called,
 * so that a mistake is reported when the app starts.
 *
 * @throws ReceiverConfigError `invalid_option`, for example for options in place of a receiver
 *
 * @example
 * ```ts
 * import assert from "node:assert/strict";
 * import { assertReceiver, createReceiver } from "@svc-webhooks/core";
 *
 * assertReceiver(createReceiver({ secret: "whsec_…", on: { "*": () => {} } }));
 * assert.throws(() => assertReceiver(undefined), { code: "invalid_option", option: "receiver" });
 * ```
 */
export function assertReceiver(value: unknown): asserts value is Pick<Receiver, "receive"> {
  const { receive } = Object(value) as Partial<Receiver>;
  assertOption(typeof receive === "function", "invalid_option", "receiver", value);
}
