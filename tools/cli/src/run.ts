import { readArguments } from "./arguments.js";
import type { CommandEntry, Process } from "./command.js";
import { commands, listed, withoutService } from "./commands.js";
import { Failure, messageOf, UsageError } from "./errors.js";
import { helpOf, overview } from "./help.js";
import { conceal } from "./lib/mask.js";
import { importedModules } from "./lib/module.js";
import { meant } from "./lib/did-you-mean.js";
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

/** Rewrites `help sign` to `sign --help`, `version` or `-v` to `--version`, and old names to those after `service`. */
function asOptions(words: readonly string[]): readonly string[] {
  const [first = "", ...rest] = words;
  if (first === "help") return asOptions([...rest, "--help"]);
  if (first === "version" || first === "-v") return ["--version"];
  return isCommand(first) || !isCommand("service", first) ? words : ["service", ...words];
}

/** Returns whether the words are a command's name or its beginning. */
const isCommand = (...words: readonly string[]) =>
  commands.some(({ name }) => `${name} `.startsWith(`${words.join(" ")} `));

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
    const [first] = args;
    const { words, group } = groupOf(args);
    if (isHelp(first)) stdout.write(overview(listed, stdout));
    else if (group.length > 0 && isHelp(args[words.length]))
      stdout.write(overview(group, stdout, words.join(" ")));
    else if (first === "--version") stdout.write(`${version()}\n`);
    else if (first === undefined) stderr.write(overview(listed, stderr));
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

/** Returns the first words of the arguments with which commands start, as many as possible, and these commands. */
function groupOf(args: readonly string[]) {
  for (const count of [2, 1]) {
    const words = args.slice(0, count);
    const group = commands.filter(({ name }) => name.startsWith(`${words.join(" ")} `));
    if (group.length > 0) return { words, group };
  }
  return { words: [], group: [] };
}

const anyOf = new Intl.ListFormat("en", { type: "disjunction" });

function unknownCommand(args: readonly string[]): UsageError {
  const [first = "", second = ""] = args;
  if (first.startsWith("-"))
    return new UsageError(
      "The first argument is an option, not a command.",
      "Put options after the command. svc-webhooks --help lists all commands.",
    );
  const { words, group } = groupOf(args);
  if (group.length > 0) return unknownSubcommand(args, words.join(" "), group);
  const known = [...commands, ...listed].map(({ name }) => [withoutService(name), name] as const);
  const names = new Map(known);
  const short = Array.from(names.keys());
  const near = names.get(meant(`${first} ${second}`, short) ?? meant(first, short) ?? "");
  const question = near === undefined ? "" : `Did you mean ${near}? `;
  const hint = `${question}svc-webhooks --help lists all commands.`;
  return new UsageError(`The command ${first} does not exist.`, hint);
}

/** Returns the error for arguments that start with the words of a group, but with no command of it. */
function unknownSubcommand(
  args: readonly string[],
  group: string,
  entries: readonly CommandEntry[],
): UsageError {
  const names = entries.map((entry) => entry.name.slice(group.length + 1));
  const [first = "", second = ""] = args.slice(group.split(" ").length);
  const missing = `\`${group}\` needs a subcommand: ${anyOf.format(names)}.`;
  if (first === "") return new UsageError(missing, `svc-webhooks ${group} --help lists them.`);
  const ofTwoWords = names.filter((name) => name.includes(" "));
  const near = meant(`${first} ${second}`, ofTwoWords) ?? meant(first, names);
  const hint = near === undefined ? missing : `Did you mean \`${group} ${near}\`?`;
  return new UsageError(`The command ${group} ${first} does not exist.`, hint);
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
