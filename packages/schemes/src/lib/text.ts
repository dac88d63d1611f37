/** Returns the value if it is a non-empty string, otherwise undefined. A field of a JSON body may have any type. */
export const filled = (value: unknown): string | undefined =>
  typeof value === "string" && value !== "" ? value : undefined;

/** Returns the value of a header, or "" if it has a comma, which joins headers that a proxy has repeated. */
export const single = (value: string): string => (value.includes(",") ? "" : value);
