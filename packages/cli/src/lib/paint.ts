import { styleText } from "node:util";

export type Colour = "green" | "red" | "yellow" | "bold" | "dim";

/** Returns the text in a colour, or unchanged. */
export type Paint = (colour: Colour, text: string) => string;

/** Colours only on a terminal, and never with `NO_COLOR` (no-color.org). */
export function paintFor(
  { isTTY }: { readonly isTTY?: boolean },
  { NO_COLOR = "", TERM }: Readonly<Record<string, string | undefined>>,
): Paint {
  if (isTTY !== true || NO_COLOR !== "" || TERM === "dumb") return (_colour, text) => text;
  // Newer versions of Node would decide by themselves.
  return (colour, text) => styleText(colour, text, { validateStream: false });
}
