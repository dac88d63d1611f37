import type { Section } from "./race.js";

export interface Settings {
  /** A look instead of a measurement: every step once, in seconds instead of minutes. */
  readonly quick: boolean;
}

export type RunSection = (settings: Settings) => Promise<Section>;
