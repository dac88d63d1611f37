import { paint, type Colour, type Line } from "../../paint.js";
import { excerpt } from "./text.js";

/** Formats untrusted texts as a table with column names. `colours` maps some of the texts to their colours. */
export function table(
  names: readonly string[],
  rows: readonly (readonly unknown[])[],
  colours: Readonly<Record<string, Colour>> = {},
): readonly Line[] {
  const cells = rows.map((row) => row.map((value) => excerpt(textOf(value), 80)));
  const widths = names.map((name, column) =>
    Math.max(name.length, ...cells.map((row) => (row[column] ?? "").length)),
  );
  const spaceAfter = (text: string, column: number) =>
    " ".repeat((widths[column] ?? 0) - text.length + 2);
  const head = names.map((name, column) => name + spaceAfter(name, column)).join("");
  const lines = cells.map((row) =>
    row.flatMap((text, column) => {
      const colour = Object.hasOwn(colours, text) ? colours[text] : undefined;
      return [colour === undefined ? text : paint(colour, text), spaceAfter(text, column)];
    }),
  );
  return [[paint("dim", head.trimEnd())], ...lines];
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
