import { help, readArguments, type Arguments } from "./arguments.js";
import { playLoop } from "./loop.js";

async function main(args: readonly string[]): Promise<0 | 1 | 2> {
  let given: Arguments;
  try {
    given = readArguments(args);
  } catch (error) {
    process.stderr.write(`${(error as Error).message}\n`);
    return 2;
  }
  if (given.help !== true) return playLoop(given);
  process.stdout.write(help);
  return 0;
}

process.exitCode = await main(process.argv.slice(2));
