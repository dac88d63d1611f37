import type { Colour, Paint } from "./paint.js";
import { printable } from "./text.js";

/** Columns of texts from outside, under their names. `colours` has those of some texts. */
export function table(
  names: readonly string[],
  rows: readonly (readonly unknown[])[],
  paint: Paint,
  colours: Readonly<Record<string, Colour>> = {},
): string {
  const cells = rows.map((row) => row.map((value) => printable(cell(value), 80)));
  const widths = names.map((name, column) =>
    Math.max(name.length, ...cells.map((row) => (row[column] ?? "").length)),
  );
  const painted = (text: string) => {
    const colour = Object.hasOwn(colours, text) ? colours[text] : undefined;
    return colour === undefined ? text : paint(colour, text);
  };
  const line = (row: readonly string[], look: (text: string) => string) =>
    row
      .map((text, column) => look(text) + " ".repeat((widths[column] ?? 0) - text.length))
      .join("  ")
      .trimEnd();
  const head = paint(
    "dim",
    line(names, (name) => name),
  );
  return [head, ...cells.map((row) => line(row, painted))].join("\n");
}

/** What the interface document does not show may be of any type. */
const cell = (value: unknown) =>
  typeof value === "string" ? value : (JSON.stringify(value) ?? "");

/** Lines of a name and a text from outside. */
export function fields(values: Readonly<Record<string, string | undefined>>): string {
  const given = Object.entries(values).filter((entry): entry is [string, string] => !!entry[1]);
  const width = Math.max(...given.map(([name]) => name.length));
  return given.map(([name, text]) => `${name.padEnd(width)}  ${printable(text)}`).join("\n");
}
