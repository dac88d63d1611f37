/** Returns the value if it is a non-empty text. Bodies are JSON, so a field may have any type. */
export const filled = (value: unknown): string | undefined =>
  typeof value === "string" && value !== "" ? value : undefined;

/** Returns the value of a header, or "" if there are several, such as those that a proxy has doubled: a comma joins them. */
export const single = (value: string): string => (value.includes(",") ? "" : value);
