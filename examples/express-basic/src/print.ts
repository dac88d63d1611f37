import { styleText } from "node:util";

type Style = Parameters<typeof styleText>[0];

// Colors are off if `NO_COLOR` is set and not empty (https://no-color.org).
const colored = process.stdout.isTTY && !process.env["NO_COLOR"];

export const styled = (style: Style, text: string): string =>
  colored ? styleText(style, text) : text;

export function print(line = ""): void {
  process.stdout.write(`${line}\n`);
}
