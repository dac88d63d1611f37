/** Returns whether `value` is a whole number from `min` to `max`. */
export const isWhole = (value: number, min: number, max: number): boolean =>
  Number.isSafeInteger(value) && value >= min && value <= max;
