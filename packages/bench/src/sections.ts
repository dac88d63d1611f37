import type { Section } from "./race.js";

/** The sections in the order of the page. Each is a file in `sections/`. */
export const sectionIds = [
  "verify",
  "receive",
  "http",
  "redis",
  "postgres",
  "growth",
  "size",
  "start",
  "sandbox",
];

/**
 * Runs a section. `quick` runs every step once, in seconds: this shows that the section works and measures
 * nothing.
 */
export type RunSection = (quick: boolean) => Promise<Section>;
