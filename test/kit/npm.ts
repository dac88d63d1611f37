import { npmCommand } from "../../tools/build/npm.js";
import { run, type Ended, type RunOptions } from "./programs.js";

/** The program and the first arguments of each npm command, for functions that start processes. */
export const npmStart: readonly [string, ...string[]] = npmCommand("npm");

/** Runs npm until it exits. */
export function npm(args: readonly string[], options: RunOptions): Promise<Ended> {
  const [program, ...first] = npmStart;
  return run(program, [...first, ...args], options);
}
