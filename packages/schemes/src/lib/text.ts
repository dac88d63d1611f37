/** Returns the value if it is a non-empty string, otherwise undefined. A field of a JSON body may have any type. */
export const filled = (value: unknown): string | undefined =>
  typeof value === "string" && value !== "" ? value : undefined;

/** Returns the value of a header, or "" if it contains a comma: repeated headers arrive joined by commas. */
export const single = (value: string): string => (value.includes(",") ? "" : value);
