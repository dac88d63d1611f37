/** @throws Error if there is no value */
export function present<Value>(value: Value | undefined): Value {
  if (value === undefined) throw new Error("There is no such value.");
  return value;
}
