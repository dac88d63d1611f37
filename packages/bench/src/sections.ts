import type { Section } from "./race.js";

/** In the order of the page. Each is a file in `sections/`. */
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

/** `quick` runs every step once, in seconds: it shows that the section works and measures nothing. */
export type RunSection = (quick: boolean) => Promise<Section>;
