import { UsageError } from "../errors.js";
import { didYouMean } from "./did-you-mean.js";

const anyOf = new Intl.ListFormat("en", { type: "disjunction" });

/** @throws UsageError unless `values` contains the value */
export function assertOneOf(name: string, value: string, values: readonly string[]): void {
  if (values.includes(value)) return;
  const hint = `${didYouMean(value, values)}Use ${anyOf.format(values)}.`;
  throw new UsageError(`${name} cannot be ${value}.`, hint);
}
