import { paint, type Colour, type Line, type Output } from "../../paint.js";
import { excerpt } from "./text.js";

/** The minimum width of a column that is cut, in characters. */
const narrowest = 12;

/**
 * Formats untrusted texts as a table with column names. On a terminal that is too narrow, the first column that does
 * not fit is cut, and those after it are left out.
 *
 * @param colours the colours of some texts
 */
export function table(
  names: readonly string[],
  rows: readonly (readonly unknown[])[],
  { columns = 0 }: Pick<Output, "columns">,
  colours: Readonly<Record<string, Colour>> = {},
): readonly Line[] {
  const cells = rows.map((row) => row.map((value) => excerpt(textOf(value), 80)));
  const widths = fitting(
    names.map((name, column) =>
      Math.max(name.length, ...cells.map((row) => (row[column] ?? "").length)),
    ),
    columns === 0 ? Infinity : columns,
  );
  const lineOf = (texts: readonly string[], colourOf: (text: string) => Colour | undefined) =>
    widths.flatMap((width, column) => {
      const text = texts[column] ?? "";
      const colour = colourOf(text);
      const shown = excerpt(text, width);
      return [
        colour === undefined ? shown : paint(colour, shown),
        " ".repeat(width - shown.length + 2),
      ];
    });
  return [
    lineOf(names, () => "dim"),
    ...cells.map((row) =>
      lineOf(row, (text) => (Object.hasOwn(colours, text) ? colours[text] : undefined)),
    ),
  ];
}

/** Returns the widths of the columns that fit next to each other, two spaces apart. The first one always does. */
function fitting(widths: readonly number[], available: number): readonly number[] {
  const [first = 0, ...others] = widths;
  const fit = [first];
  let left = available - first;
  for (const width of others) {
    left -= 2;
    if (left < Math.min(width, narrowest)) break;
    fit.push(Math.min(width, left));
    left -= width;
  }
  return fit;
}

/** Formats a value of any type. The interface document does not show every field, so some types are unknown. */
export const textOf = (value: unknown): string =>
  typeof value === "string" ? value : (JSON.stringify(value) ?? "");

/** Joins the items of a list into one text. Returns any other value unchanged. */
export const listed = (value: unknown, textOfItem: (item: unknown) => string = textOf): unknown =>
  Array.isArray(value) ? value.map(textOfItem).join(", ") : value;

/** Formats one line per name and value. Skips empty values. */
export function fields(values: Readonly<Record<string, unknown>>): readonly Line[] {
  const given = Object.entries(values)
    .map(([name, value]) => [name, textOf(value ?? "")] as const)
    .filter(([, text]) => text !== "");
  const width = Math.max(...given.map(([name]) => name.length));
  return given.map(([name, text]) => `${name.padEnd(width)}  ${text}`);
}
