import { paint, type Color, type Line, type Output } from "../../paint.js";
import { excerpt } from "./text.js";

/** The minimum width of a column that is cut, in characters. */
const narrowest = 12;

interface TableOptions {
  /** The colors of cells, by their text. */
  readonly colors?: Readonly<Record<string, Color>>;
  /** The names of the most important columns, the most important first. Default: the order of the columns. */
  readonly first?: readonly string[];
}

/**
 * Formats untrusted texts as a table with column names. On a terminal that is too narrow, columns get their width in
 * the order of their importance. The first one that does not fit is cut, or left out if it would be narrower than 12
 * characters. Less important columns are left out.
 */
export const table = (
  names: readonly string[],
  rows: readonly (readonly unknown[])[],
  output: Pick<Output, "columns">,
  options?: TableOptions,
): readonly Line[] => tableInParts(names, output, options)(rows);

/** Returns a function that formats a part of a {@link table} per call. The first part begins with the column names. */
export function tableInParts(
  names: readonly string[],
  { columns = 0 }: Pick<Output, "columns">,
  { colors = {}, first = names }: TableOptions = {},
): (rows: readonly (readonly unknown[])[]) => readonly Line[] {
  let widest: readonly number[] = names.map((name) => name.length);
  let isFirst = true;
  return (rows) => {
    const cells = rows.map((row) => row.map((value) => excerpt(textOf(value), 80)));
    widest = widest.map((width, column) =>
      Math.max(width, ...cells.map((row) => (row[column] ?? "").length)),
    );
    const widths = fitting(names, widest, first, columns === 0 ? Infinity : columns);
    const lineOf = (texts: readonly string[], colorOf: (text: string) => Color | undefined) =>
      widths.flatMap((width, column) => {
        if (width === 0) return [];
        const text = texts[column] ?? "";
        const color = colorOf(text);
        const shown = excerpt(text, width);
        return [
          color === undefined ? shown : paint(color, shown),
          " ".repeat(width - shown.length + 2),
        ];
      });
    const header = isFirst ? [lineOf(names, () => "dim")] : [];
    isFirst = false;
    return [
      ...header,
      ...cells.map((row) =>
        lineOf(row, (text) => (Object.hasOwn(colors, text) ? colors[text] : undefined)),
      ),
    ];
  };
}

/**
 * Returns the width of each column, or 0 if the column is left out. Leaves two spaces between columns. Does not cut
 * the most important column.
 */
function fitting(
  names: readonly string[],
  widths: readonly number[],
  first: readonly string[],
  available: number,
): readonly number[] {
  const fit = names.map(() => 0);
  const important = first.filter((name) => names.includes(name));
  let left = available;
  let isFirst = true;
  for (const name of new Set([...important, ...names])) {
    const column = names.indexOf(name);
    const width = widths[column] ?? 0;
    if (!isFirst) left -= 2;
    if (!isFirst && left < Math.min(width, narrowest)) break;
    fit[column] = isFirst ? width : Math.min(width, left);
    left -= width;
    isFirst = false;
  }
  return fit;
}

/**
 * Returns a string unchanged, and any other value as JSON. The service's interface document leaves the types of some
 * fields open.
 */
export const textOf = (value: unknown): string =>
  typeof value === "string" ? value : (JSON.stringify(value) ?? "");

/** Joins the items of a list into one text. Returns any other value unchanged. */
export const listed = (value: unknown, textOfItem: (item: unknown) => string = textOf): unknown =>
  Array.isArray(value) ? value.map(textOfItem).join(", ") : value;

/** Formats one line per name and value. Skips empty values. */
export function fields(values: Readonly<Record<string, unknown>>): readonly Line[] {
  const rows = Object.entries(values)
    .map(([name, value]) => [name, textOf(value ?? "")] as const)
    .filter(([, text]) => text !== "");
  const width = Math.max(...rows.map(([name]) => name.length));
  return rows.map(([name, text]) => `${name.padEnd(width)}  ${text}`);
}
