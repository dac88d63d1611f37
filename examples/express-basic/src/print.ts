import { styleText } from "node:util";

type Style = Parameters<typeof styleText>[0];

// https://no-color.org: set and not empty.
const coloured = process.stdout.isTTY && !process.env["NO_COLOR"];

export const styled = (style: Style, text: string): string =>
  coloured ? styleText(style, text) : text;

export function print(line = ""): void {
  process.stdout.write(`${line}\n`);
}
