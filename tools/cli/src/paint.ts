import { styleText } from "node:util";

export type Color = "green" | "red" | "yellow" | "bold" | "dim";

/** A colored text. */
export interface Painted {
  readonly color: Color;
  readonly text: string;
}

/** A line of output: a text, or parts that may be colored. When it is written, line breaks in it become spaces. */
export type Line = string | readonly (string | Painted)[];

/** An output stream: stdout or stderr. */
export interface Output {
  readonly isTTY?: boolean;
  /** The width of the terminal, in characters. 0 or undefined if it is unknown. */
  readonly columns?: number;
  /** Returns false if the buffer is full. The event `drain` follows when the buffer has been written. */
  write(text: string): unknown;
  on?(event: "error", listener: () => void): unknown;
  once?(event: "drain", listener: () => void): unknown;
}

export const paint = (color: Color, text: string): Painted => ({ color, text });

/** Renders a text for an output, with or without its color. */
export type PaintTo = (painted: Painted) => string;

/**
 * Returns the function that renders colored texts for an output. It uses colors only on a terminal, and only if `TERM`
 * is not `dumb` and `NO_COLOR` is empty or not set (no-color.org).
 */
export function paintFor(
  { isTTY }: Pick<Output, "isTTY">,
  { NO_COLOR = "", TERM }: Readonly<Record<string, string | undefined>>,
): PaintTo {
  if (isTTY !== true || NO_COLOR !== "" || TERM === "dumb") return ({ text }) => text;
  // Without `validateStream: false`, newer versions of Node would decide themselves whether to use colors.
  return ({ color, text }) => styleText(color, text, { validateStream: false });
}
