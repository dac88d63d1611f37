import { styleText } from "node:util";

export type Colour = "green" | "red" | "yellow" | "bold" | "dim";

/** A coloured text. */
export interface Painted {
  readonly colour: Colour;
  readonly text: string;
}

/** A line of output: texts, some of them in a colour. Line breaks within it become spaces. */
export type Line = string | readonly (string | Painted)[];

/** stdout or stderr. */
export interface Output {
  readonly isTTY?: boolean;
  /** The width of the terminal, in characters. 0 or undefined if it is unknown. */
  readonly columns?: number;
  /** Returns false if the text waits in memory. The event `drain` follows. */
  write(text: string): unknown;
  on?(event: "error", listener: () => void): unknown;
  once?(event: "drain", listener: () => void): unknown;
}

export const paint = (colour: Colour, text: string): Painted => ({ colour, text });

/** Renders a text for an output, with or without its colour. */
export type PaintTo = (painted: Painted) => string;

/**
 * Returns the function that renders coloured texts for an output. Colours appear only on a terminal, and never with
 * `NO_COLOR` (no-color.org).
 */
export function paintFor(
  { isTTY }: Pick<Output, "isTTY">,
  { NO_COLOR = "", TERM }: Readonly<Record<string, string | undefined>>,
): PaintTo {
  if (isTTY !== true || NO_COLOR !== "" || TERM === "dumb") return ({ text }) => text;
  // Without this option, newer versions of Node decide for themselves whether to use colours.
  return ({ colour, text }) => styleText(colour, text, { validateStream: false });
}
