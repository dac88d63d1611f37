import type { DeliveryFacts } from "./outcome.js";

/** A non-empty string. */
export const isFilled = (value: unknown): value is string =>
  typeof value === "string" && value !== "";

/** What an error says; of whatever was thrown, something. */
export function describe(error: unknown): string {
  try {
    return String((error as Error | undefined)?.message ?? error) || "no reason";
  } catch {
    return "unprintable";
  }
}

/**
 * A line for the operator. What comes from outside is cut to 500 characters, and everything but
 * visible ASCII in it escaped: no line break and no terminal sequence gets through.
 */
export function logLine(
  what: string,
  { deliveryId, type }: Partial<DeliveryFacts>,
  message = "",
): string {
  const about = deliveryId ? ` ${JSON.stringify({ deliveryId, type })}` : "";
  return `svc-webhooks ${what}:${printable(about)} ${printable(message)}`;
}

const printable = (text: string) =>
  text
    .slice(0, 500)
    .replace(/[^ -~]/g, (character) => `\\u{${character.charCodeAt(0).toString(16)}}`);
