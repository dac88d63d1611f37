import { styleText } from "node:util";
import type { ResponseNote } from "@svc-webhooks/client";

type Style = Parameters<typeof styleText>[0];

// Colors are off if `NO_COLOR` is set and not empty (https://no-color.org).
const colored = process.stdout.isTTY && !process.env["NO_COLOR"];
const styled = (style: Style, text: string) => (colored ? styleText(style, text) : text);

const startedAt = performance.now();

export function print(line = ""): void {
  process.stdout.write(`${line}\n`);
}

export const heading = (text: string): void => print(`\n${styled("bold", text)}`);

export const note = (text: string): void => print(styled("dim", `             ${text}`));

/** Prints one line of the timeline: the direction, the message, and its result. */
export function entry(direction: "→" | "←", what: string, status: number, how = ""): void {
  const seconds = ((performance.now() - startedAt) / 1_000).toFixed(1).padStart(5);
  const style = status < 300 ? "green" : status < 500 ? "yellow" : "red";
  const line = `${seconds} s  ${direction}  ${what.padEnd(52)}`;
  print(`${line} ${styled(style, `${status} ${how}`.trim())}`);
}

/** Prints the line of a request to the service, with shortened ids. */
export function request({ method, path, status = 0 }: ResponseNote): void {
  const short = path.replaceAll(/_(\w{4})\w{10,}/g, "_$1…").replace(/\?.*/, "");
  entry("→", `${method} ${short}`, status);
}

export const verdict = (ok: boolean, text: string): void =>
  print(`\n${styled(ok ? "green" : "red", text)}`);
