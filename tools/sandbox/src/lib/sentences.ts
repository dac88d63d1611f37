/** Joins sentences into one text, without those that are absent or empty. */
export const sentences = (...all: readonly (string | undefined)[]): string =>
  all.filter(Boolean).join(" ");
