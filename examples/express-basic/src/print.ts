import { styleText } from "node:util";

type Style = Parameters<typeof styleText>[0];

// Colours are off if `NO_COLOR` is set and not empty (https://no-color.org).
const coloured = process.stdout.isTTY && !process.env["NO_COLOR"];

export const styled = (style: Style, text: string): string =>
  coloured ? styleText(style, text) : text;

export function print(line = ""): void {
  process.stdout.write(`${line}\n`);
}
