import { setTimeout } from "node:timers/promises";
import { styleText } from "node:util";

type Style = Parameters<typeof styleText>[0];

// Colors are off if `NO_COLOR` is set and not empty (https://no-color.org).
const isPlain = !process.stdout.isTTY || Boolean(process.env.NO_COLOR);
let isMuted = false;

export const styled = (style: Style, text: string): string =>
  isPlain ? text : styleText(style, text);

export function print(line = ""): void {
  write(`${line}\n`);
}

/** Waits, with a countdown on a terminal, or a single line elsewhere. */
export async function wait(seconds: number, what: string): Promise<void> {
  if (isPlain) print(`${what} ${seconds} s`);
  for (let left = seconds; left > 0; left -= 1) {
    if (!isPlain) write(`${styled("dim", `${what} ${left} s`)}\r`);
    await setTimeout(1_000);
  }
}

/** Suppresses all further output. */
export function mute(): void {
  isMuted = true;
}

function write(text: string): void {
  // The line may contain a countdown.
  const clear = isPlain ? "" : "\u001b[K";
  if (!isMuted) process.stdout.write(clear + text);
}
