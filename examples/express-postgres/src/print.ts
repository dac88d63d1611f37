import { styleText } from "node:util";

type Style = Parameters<typeof styleText>[0];

// Colors are off if `NO_COLOR` is set and not empty (https://no-color.org).
const isPlain = !process.stdout.isTTY || Boolean(process.env.NO_COLOR);
let isMuted = false;

export const styled = (style: Style, text: string): string =>
  isPlain ? text : styleText(style, text);

export function print(line = ""): void {
  if (!isMuted) process.stdout.write(`${line}\n`);
}

/** Suppresses all further output. */
export function mute(): void {
  isMuted = true;
}
