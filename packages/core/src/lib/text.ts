/** Returns whether `value` is a non-empty string. */
export const isFilled = (value: unknown): value is string =>
  typeof value === "string" && value !== "";

/** Returns the message of an error, or a text for any other thrown value. Never throws. */
export function describe(error: unknown): string {
  try {
    return String((error as Error | undefined)?.message ?? error) || "no reason";
  } catch {
    return "unprintable";
  }
}
