import { readArguments } from "./arguments.js";
import type { CommandEntry, Process } from "./command.js";
import { commands } from "./commands.js";
import { Failure, messageOf, UsageError } from "./errors.js";
import { helpOf, overview } from "./help.js";
import { conceal } from "./lib/mask.js";
import { importedModules } from "./lib/module.js";
import { didYouMean, meant } from "./lib/did-you-mean.js";
import { writeJson, writeLines } from "./lib/terminal/output.js";
import { paintFor } from "./paint.js";
import { version } from "./version.js";

/**
 * Runs a command line. Reports errors on stderr instead of rejecting. Does not report an interruption as an error.
 *
 * @returns the exit code: 0 success; 1 failure, a negative result or an interruption; 2 incorrect usage; 3 a test
 *   that could not run
 */
export async function run(words: readonly string[], process: Process): Promise<0 | 1 | 2 | 3> {
  const args = asOptions(words);
  // Masks the values of these variables, because a command may show the output of a program that prints them.
  for (const name of ["SVC_API_KEY", "SVC_WEBHOOK_SECRET"]) conceal(process.env[name] ?? "");
  const entry = entryOf(args);
  try {
    return await dispatch(args, entry, process);
  } catch (error) {
    if (process.signal.aborted && (error as Error).name === "AbortError") return 1;
    return report(error, entry?.name, ownOf(args).includes("--json"), process);
  }
}

/**
 * Reports that a user's module ended the process before the command had a result. Writes synchronously, because no
 * asynchronous code runs after `exit`.
 *
 * @returns the exit code
 */
export function reportEnded(words: readonly string[], process: Pick<Process, "stderr">): 2 {
  const args = asOptions(words);
  const error = new UsageError(
    `${anyOf.format(importedModules)} ended the process, so the command has no result.`,
    "The module must only export the value that the command uses, without calling process.exit() or starting a server.",
  );
  writeError(error, entryOf(args)?.name, ownOf(args).includes("--json"), process);
  return 2;
}

/** Rewrites `help sign` to `sign --help`, and `version` or `-v` to `--version`. */
function asOptions(words: readonly string[]): readonly string[] {
  const [first = "", ...rest] = words;
  if (first === "help") return [...rest, "--help"];
  return first === "version" || first === "-v" ? ["--version"] : words;
}

/** Returns the arguments before `--`, or all if there is no `--`. Arguments after it are not options. */
function ownOf(args: readonly string[]): readonly string[] {
  const end = args.indexOf("--");
  return end < 0 ? args : args.slice(0, end);
}

const entryOf = (args: readonly string[]) =>
  commands.find(({ name }) => name.split(" ").every((word, index) => args[index] === word));

async function dispatch(
  args: readonly string[],
  entry: CommandEntry | undefined,
  process: Process,
): Promise<0 | 1 | 2 | 3> {
  const { stdout, stderr } = process;
  if (!entry) {
    const [first, second] = args;
    const group = groupOf(first);
    if (isHelp(first)) stdout.write(overview(commands, stdout));
    else if (first !== undefined && group.length > 0 && isHelp(second))
      stdout.write(overview(group, stdout, first));
    else if (first === "--version") stdout.write(`${version()}\n`);
    else if (first === undefined) stderr.write(overview(commands, stderr));
    else throw unknownCommand(args);
    return first === undefined ? 2 : 0;
  }
  const command = await entry.load();
  const words = entry.name.split(" ").length;
  const { help, ...commandLine } = readArguments(entry.name, args.slice(words), command);
  if (help) {
    stdout.write(helpOf(entry, command, stdout));
    return 0;
  }
  return command.run({
    ...process,
    ...commandLine,
    show(value, lines, revealed) {
      if (commandLine.json) writeJson(stdout, value, revealed);
      else writeLines(stdout, lines, paintFor(stdout, process.env), revealed);
    },
    note: (line) => writeLines(stderr, [line]),
  });
}

const isHelp = (arg: string | undefined) => arg === "--help" || arg === "-h";

/** Returns the two-word commands that start with this word. */
const groupOf = (word = "") => commands.filter(({ name }) => name.startsWith(`${word} `));

const anyOf = new Intl.ListFormat("en", { type: "disjunction" });

function unknownCommand(args: readonly string[]): UsageError {
  const [first = "", second = ""] = args;
  if (first.startsWith("-"))
    return new UsageError(
      "The first argument is an option, not a command.",
      "Put options after the command. svc-webhooks --help lists all commands.",
    );
  const group = groupOf(first);
  const two = `${first} ${second}`;
  if (group.length > 0) {
    const words = group.map((entry) => entry.name.slice(first.length + 1));
    const missing = `\`${first}\` needs a subcommand: ${anyOf.format(words)}.`;
    if (second === "") return new UsageError(missing, `svc-webhooks ${first} --help lists them.`);
    const near = meant(second, words);
    const hint = near === undefined ? missing : `Did you mean \`${first} ${near}\`?`;
    return new UsageError(`The command ${two} does not exist.`, hint);
  }
  const names = commands.map((entry) => entry.name);
  const near = didYouMean(two, names) || didYouMean(first, names);
  const hint = `${near}svc-webhooks --help lists all commands.`;
  return new UsageError(`The command ${first} does not exist.`, hint);
}

/** Reports an error. Resolves to the exit code. */
async function report(
  error: unknown,
  name: string | undefined,
  json: boolean,
  process: Process,
): Promise<1 | 2 | 3> {
  const isOurs = error instanceof UsageError || error instanceof Failure;
  const { codeOf } = await import("@svc-webhooks/core/adapter");
  const code = isOurs ? error.code : (codeOf(error) ?? "unexpected_error");
  const [message, hint] = [messageOf(error), isOurs ? error.hint : ""];
  writeError({ code, message, hint }, name, json, process);
  const isWrongUsage = error instanceof UsageError || (!isOurs && codeOf(error) !== undefined);
  if (isWrongUsage) return 2;
  return error instanceof Failure ? error.exitCode : 1;
}

/** Writes an error to stderr as one line: the command, the cause and the fix. With `json`, writes it as JSON. */
function writeError(
  { code, message, hint }: Pick<UsageError, "message" | "hint"> & { readonly code: string },
  name: string | undefined,
  json: boolean,
  { stderr }: Pick<Process, "stderr">,
): void {
  const program = name === undefined ? "svc-webhooks" : `svc-webhooks ${name}`;
  if (json) writeJson(stderr, { error: { code, message, ...(hint && { hint }) } });
  else writeLines(stderr, [[`${program}: `, message, hint && ` ${hint}`]]);
}
