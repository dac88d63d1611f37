import { help, readArguments, type Arguments } from "./arguments.js";
import { playLoop } from "./loop.js";

async function main(args: readonly string[]): Promise<0 | 1 | 2> {
  let options: Arguments;
  try {
    options = readArguments(args);
  } catch (error) {
    process.stderr.write(`${(error as Error).message}\n`);
    return 2;
  }
  if (options.help !== true) return playLoop(options);
  process.stdout.write(help);
  return 0;
}

process.exitCode = await main(process.argv.slice(2));
