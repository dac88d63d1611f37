import { readFileSync } from "node:fs";
import { join } from "node:path";
import { root } from "./programs.js";

/** One row, keyed by the column heads. */
export type Row = Readonly<Record<string, string>>;

const cellsOf = (line: string) =>
  line
    .split(/(?<!\\)\|/)
    .slice(1, -1)
    .map((cell) => cell.trim());

/** Returns the only table of a page whose first column has this head. `page` is a path relative to the root. */
export function tableOf(page: string, firstHead: string): readonly Row[] {
  const tables = readFileSync(join(root, page), "utf8").matchAll(/(?:^\|.*\|\n)+/gm);
  const [table, ...others] = Array.from(tables, ([text]) => text.trimEnd().split("\n"))
    .map((lines) => lines.map(cellsOf))
    .filter(([head]) => head?.[0] === firstHead);
  if (!table || others.length > 0) {
    throw new Error(`${page} must have one table whose first column is "${firstHead}".`);
  }
  const [head = [], , ...rows] = table;
  return rows.map((cells) => Object.fromEntries(head.map((name, i) => [name, cells[i] ?? ""])));
}

/** Returns the texts in backticks. */
export const codeIn = (text: string): readonly string[] =>
  Array.from(text.matchAll(/`([^`]+)`/g), ([, code = ""]) => code);
