/** Returns whether `value` is an object, excluding null and functions. */
export const isObject = (value: unknown): value is object =>
  typeof value === "object" && value !== null;
