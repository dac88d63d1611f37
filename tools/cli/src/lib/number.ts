import { UsageError } from "../errors.js";

/**
 * Parses a whole number.
 *
 * @throws UsageError unless the text is a whole number from `min` to `max`
 */
export function wholeNumber(flag: string, text: string, min: number, max: number): number {
  const value = Number(text);
  if (/^\d{1,15}$/.test(text) && value >= min && value <= max) return value;
  // The example for a port is not the smallest one, because ports below 1024 may require privileges.
  const example = max === 65_535 ? 4_011 : Math.max(min, 1);
  throw new UsageError(
    `${flag} must be a whole number from ${min} to ${max}.`,
    `For example, write ${flag} ${example}.`,
  );
}
