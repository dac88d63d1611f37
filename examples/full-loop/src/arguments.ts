import { parseArgs } from "node:util";

const options = {
  serve: { type: "boolean", text: "keep everything running after the scenes, until Ctrl-C" },
  open: { type: "boolean", text: "the same, and open the page in the default browser" },
  help: { type: "boolean", text: "print this help and exit" },
} as const;

export interface Arguments {
  readonly serve?: boolean | undefined;
  readonly open?: boolean | undefined;
  readonly help?: boolean | undefined;
}

/**
 * Reads the demo's arguments.
 *
 * @throws Error with a sentence that states the fix
 */
export function readArguments(args: readonly string[]): Arguments {
  try {
    return parseArgs({ args: [...args], options }).values;
  } catch (error) {
    const [sentence] = (error as Error).message.split(". ");
    throw new Error(`${sentence}. The options are --serve, --open and --help.`, { cause: error });
  }
}

export const help: string = `Usage: npm run demo -- [options]

The whole loop, offline: the sandbox, and an Express app that receives its webhooks.

${Object.entries(options)
  .map(([name, { text }]) => `  ${`--${name}`.padEnd(8)} ${text}\n`)
  .join("")}`;
