import type { Section } from "./race.js";

/** The sections in the order of the page. Each is a file in `sections/`. */
export const sectionIds = [
  "verify",
  "schemes",
  "receive",
  "http",
  "redis",
  "postgres",
  "sqlite",
  "inbox",
  "growth",
  "size",
  "start",
  "sandbox",
  "crash-test",
];

/**
 * Runs a section. With `quick`, every step runs only once or for a short time. This shows that the section works, but
 * its values mean little.
 */
export type RunSection = (quick: boolean) => Promise<Section>;
