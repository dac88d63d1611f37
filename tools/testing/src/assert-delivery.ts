import { assertValid } from "@svc-webhooks/core/adapter";
import type { SignedDelivery } from "./delivery.js";

/**
 * Asserts that a value looks like a delivery from `signedDelivery`: it has headers, and its body is a Uint8Array.
 *
 * @throws ConfigError `invalid_option` if it does not
 */
export function assertDelivery(delivery: SignedDelivery): void {
  // `Object` turns null and undefined, which JavaScript callers may pass, into an object that can be destructured.
  const { body, headers } = Object(delivery) as Partial<SignedDelivery>;
  const text = `\`delivery\` is ${kindOf(delivery)}, not a signed delivery: await signedDelivery(…) first, and pass the result.`;
  assertValid(tagOf(body) === "Uint8Array" && headers, "delivery", text);
}

/**
 * Returns the name of a value's type, such as `Uint8Array`. `instanceof` is unreliable in edge runtimes and test
 * environments, because there may be several `Uint8Array` classes.
 */
const tagOf = (value: unknown): string => Object.prototype.toString.call(value).slice(8, -1);

function kindOf(value: unknown): string {
  const { then } = Object(value) as Partial<PromiseLike<unknown>>;
  if (typeof then === "function") return "a promise";
  if (tagOf(value) === "Request") return "a Request";
  if (value === undefined || value === null) return String(value);
  return typeof value === "object" ? "an object" : `a ${typeof value}`;
}
