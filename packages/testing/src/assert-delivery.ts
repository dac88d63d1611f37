import { ReceiverConfigError } from "@svc-webhooks/core";
import { isBytes } from "./is-bytes.js";
import type { SignedDelivery } from "./signed-delivery.js";

/** @throws ReceiverConfigError `invalid_option` unless the value is what `signedDelivery` resolves to */
export function assertDelivery(delivery: SignedDelivery): void {
  // JavaScript callers may pass anything.
  const { body, headers } = Object(delivery) as Partial<SignedDelivery>;
  if (isBytes(body) && headers) return;
  const text = `\`delivery\` is ${kindOf(delivery)}, not a signed delivery: await signedDelivery(…) first, and pass the result.`;
  throw new ReceiverConfigError("invalid_option", "delivery", text);
}

function kindOf(value: unknown): string {
  const { then } = Object(value) as Partial<PromiseLike<unknown>>;
  if (typeof then === "function") return "a promise";
  if (Object.prototype.toString.call(value) === "[object Request]") return "a Request";
  if (value === undefined || value === null) return String(value);
  return typeof value === "object" ? "an object" : `a ${typeof value}`;
}
