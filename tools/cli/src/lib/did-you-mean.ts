import { nearest } from "@svc-webhooks/core/outcomes";

/**
 * Returns the name that a text probably means. The text may be misspelled, be a part of the name, or contain its words
 * in reverse order. Returns undefined if no name is similar.
 */
export const meant = (text: string, names: readonly string[]): string | undefined =>
  nearest(text, names) ??
  nearest(text.split(" ").toReversed().join(" "), names) ??
  nearest(text, names, 1 / 2) ??
  (text.length > 2 ? names.find((name) => name.includes(text)) : undefined);

/** Returns a question that suggests the most similar name, with a space at its end, or `""` if no name is similar. */
export function didYouMean(text: string, names: readonly string[], prefix = ""): string {
  const name = meant(text, names);
  return name === undefined ? "" : `Did you mean ${prefix}${name}? `;
}
