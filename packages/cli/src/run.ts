import { readFileSync } from "node:fs";
import { readArguments } from "./arguments.js";
import type { Process } from "./command.js";
import { commands, type CommandEntry } from "./commands.js";
import { Failure, messageOf, UsageError } from "./errors.js";
import { helpOf, overview } from "./help.js";
import { paintFor } from "./lib/paint.js";
import { masked, printable } from "./lib/text.js";

/**
 * Runs a command line. Never rejects.
 *
 * @returns the exit code: 0 success, 1 failure or a negative result, 2 wrong usage
 */
export async function run(args: readonly string[], process: Process): Promise<0 | 1 | 2> {
  const entry = entryOf(args);
  try {
    return await dispatch(args, entry, process);
  } catch (error) {
    if (process.signal.aborted && (error as Error).name === "AbortError") return 1;
    return report(error, entry?.name, args.includes("--json"), process);
  }
}

const entryOf = (args: readonly string[]) =>
  commands.find(({ name }) => name.split(" ").every((word, index) => args[index] === word));

async function dispatch(
  args: readonly string[],
  entry: CommandEntry | undefined,
  process: Process,
): Promise<0 | 1 | 2> {
  const { stdout, stderr } = process;
  if (!entry) {
    const [first] = args;
    if (first === "--help" || first === "-h") stdout.write(overview(commands));
    else if (first === "--version") stdout.write(`${version()}\n`);
    else if (first === undefined) stderr.write(overview(commands));
    else throw unknownCommand(args);
    return first === undefined ? 2 : 0;
  }
  const command = await entry.load();
  const words = entry.name.split(" ").length;
  const { help, ...given } = readArguments(entry.name, args.slice(words), command);
  if (help) {
    stdout.write(helpOf(entry, command));
    return 0;
  }
  return command.run({
    ...process,
    ...given,
    paint: paintFor(stdout, process.env),
    show: (value, text) => void stdout.write(`${given.json ? safeJson(value) : text}\n`),
    note: (line) => void stderr.write(`${masked(line)}\n`),
  });
}

/** JSON whose characters do nothing to a terminal. */
const safeJson = (value: object) =>
  JSON.stringify(value).replaceAll(/[\u007f-\u009f\p{Cf}\u2028\u2029]/gu, (character) =>
    Array.from({ length: character.length }, (_, index) => {
      const unit = character.charCodeAt(index).toString(16);
      return `\\u${unit.padStart(4, "0")}`;
    }).join(""),
  );

function unknownCommand([first = "", ...rest]: readonly string[]): UsageError {
  const hint = "svc-webhooks --help lists all commands.";
  if (first.startsWith("-")) return new UsageError("Options follow the command.", hint);
  const group = commands.filter(({ name }) => name.startsWith(`${first} `));
  if (group.length > 0) {
    return new UsageError(
      `The command ${[first, ...rest.slice(0, 1)].join(" ")} does not exist.`,
      `There are ${group.map(({ name }) => name).join(", ")}.`,
    );
  }
  return new UsageError(`The command ${first} does not exist.`, hint);
}

/** One line: the cause, then the fix. */
async function report(
  error: unknown,
  name: string | undefined,
  json: boolean,
  { stderr }: Process,
): Promise<1 | 2> {
  const isOurs = error instanceof UsageError || error instanceof Failure;
  const { codeOf } = await import("@svc-webhooks/core");
  const code = isOurs ? error.code : (codeOf(error) ?? "unexpected_error");
  const [message, hint] = [messageOf(error), isOurs ? error.hint : ""].map((text) =>
    masked(printable(text)),
  );
  const program = name === undefined ? "svc-webhooks" : `svc-webhooks ${name}`;
  stderr.write(
    json
      ? `${JSON.stringify({ error: { code, message, ...(hint && { hint }) } })}\n`
      : `${[`${program}:`, message, hint].filter(Boolean).join(" ")}\n`,
  );
  const isWrongUsage = error instanceof UsageError || (!isOurs && codeOf(error) !== undefined);
  return isWrongUsage ? 2 : 1;
}

function version(): string {
  const text = readFileSync(new URL("../package.json", import.meta.url), "utf8");
  return (JSON.parse(text) as { readonly version: string }).version;
}
