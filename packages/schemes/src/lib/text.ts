/** Returns the value if it is a non-empty text. Bodies are JSON, so a field may have any type. */
export const filled = (value: unknown): string | undefined =>
  typeof value === "string" && value !== "" ? value : undefined;
