import { setTimeout } from "node:timers/promises";
import { styleText } from "node:util";

type Style = Parameters<typeof styleText>[0];

// https://no-color.org: set and not empty.
const isPlain = !process.stdout.isTTY || Boolean(process.env.NO_COLOR);
let isSilent = false;

export const styled = (style: Style, text: string): string =>
  isPlain ? text : styleText(style, text);

export function print(line = ""): void {
  write(`${line}\n`);
}

/** Waits, and says so: on a terminal second by second until the next line is printed, elsewhere once. */
export async function wait(seconds: number, what: string): Promise<void> {
  if (isPlain) print(`${what} ${seconds} s`);
  for (let left = seconds; left > 0; left -= 1) {
    if (!isPlain) write(`${styled("dim", `${what} ${left} s`)}\r`);
    await setTimeout(1_000);
  }
}

/** Prints nothing any more. */
export function beSilent(): void {
  isSilent = true;
}

function write(text: string): void {
  // A countdown may be in the line.
  const clear = isPlain ? "" : "\u001b[K";
  if (!isSilent) process.stdout.write(clear + text);
}
