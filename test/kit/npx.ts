import { npmCommand } from "../../tools/build/npm.js";
import { run, type Ended, type RunOptions } from "./programs.js";

/** The program and the first arguments of each npx command, for functions that start processes. */
export const npxStart: readonly [string, ...string[]] = npmCommand("npx");

/** Runs npx until it exits. */
export function npx(args: readonly string[], options: RunOptions): Promise<Ended> {
  const [program, ...first] = npxStart;
  return run(program, [...first, ...args], options);
}
