import { nearest } from "@svc-webhooks/core/outcomes";

/**
 * Returns the name that a text stands for if it is misspelled or abbreviated, or has its words in another order.
 * Returns undefined if no name is similar.
 */
export const meant = (text: string, names: readonly string[]): string | undefined =>
  nearest(text, names) ??
  nearest(text.split(" ").toReversed().join(" "), names) ??
  nearest(text, names, 1 / 2) ??
  (text.length > 2 ? names.find((name) => name.includes(text)) : undefined);

/** Returns a question that names the meant name and ends with a space, or an empty string if none is similar. */
export function didYouMean(text: string, names: readonly string[], prefix = ""): string {
  const name = meant(text, names);
  return name === undefined ? "" : `Did you mean ${prefix}${name}? `;
}
