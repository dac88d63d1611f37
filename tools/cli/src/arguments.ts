import { parseArgs } from "node:util";
import type { Command, OptionSpec, OptionSpecs, ValuesOf } from "./command.js";
import { UsageError } from "./errors.js";
import { commonOptions } from "./help.js";
import { didYouMean } from "./lib/did-you-mean.js";
import { assertOneOf } from "./lib/one-of.js";

export interface Arguments {
  readonly args: readonly string[];
  readonly options: ValuesOf<OptionSpecs>;
  readonly json: boolean;
  readonly help: boolean;
}

/**
 * Parses the arguments and options of a command, and adds defaults. With `--help`, does not refuse missing, repeated or
 * extra arguments and options, or values that the command does not accept.
 *
 * @throws UsageError if the command line does not fit the command's definition, or has `--secret` or
 *   `--previous-secret`
 */
export function readArguments(name: string, args: readonly string[], command: Command): Arguments {
  const hint = `svc-webhooks ${name} --help lists its arguments and options.`;
  const end = args.indexOf("--");
  refuseSecrets(end < 0 ? args : args.slice(0, end));
  const specs: OptionSpecs = { ...command.options, ...commonOptions };
  const { values, positionals, tokens } = parse(args, specs, hint);
  const { json, help, ...ownValues } = values;
  const { rest } = command;
  const wanted = [...(command.args ?? []), ...(rest === undefined ? [] : [rest])];
  const result = {
    args: positionals,
    options: withDefaults(command.options, ownValues) as ValuesOf<OptionSpecs>,
    json: json === true,
    help: help === true,
  };
  if (result.help) return result;
  const names = tokens.flatMap((token) => (token.kind === "option" ? [token.name] : []));
  const repeated = names.find(
    (option, index) => specs[option]?.multiple !== true && names.indexOf(option) < index,
  );
  if (repeated !== undefined) throw new UsageError(`--${repeated} was given more than once.`, hint);
  assertStdinOnce(command, result);
  const missing = Object.entries(command.options).find(
    ([option, { required }]) => required === true && ownValues[option] === undefined,
  );
  if (missing) throw new UsageError(`--${missing[0]} is missing.`, hint);
  for (const [option, { values: accepted }] of Object.entries(command.options)) {
    if (accepted && ownValues[option] !== undefined)
      assertOneOf(`--${option}`, String(ownValues[option]), accepted);
  }
  const absent = wanted[positionals.length];
  if (absent !== undefined) throw new UsageError(`The argument <${absent}> is missing.`, hint);
  if (command.argValues) assertOneOf(`<${wanted[0]}>`, positionals[0] ?? "", command.argValues);
  if (positionals.length > wanted.length && rest === undefined) {
    const surplus = positionals.length - wanted.length;
    const text = surplus === 1 ? "1 argument" : `${surplus} arguments`;
    throw new UsageError(`The command line has ${text} too many.`, hint);
  }
  return result;
}

/**
 * Rejects `--secret` and `--previous-secret`: other users of the machine could see the value, and the shell's history
 * would keep it.
 */
function refuseSecrets(args: readonly string[]): void {
  const flag = args.find((arg) => /^--(?:previous-)?secret(?:=|$)/.test(arg))?.split("=")[0];
  if (flag === undefined) return;
  throw new UsageError(
    `${flag} is not supported, because it would expose the secret in the process list and the shell's history.`,
    `Use ${flag}-env <name> or ${flag}-file <file>.`,
  );
}

function parse(args: readonly string[], specs: OptionSpecs, hint: string) {
  const options = Object.fromEntries(
    Object.entries<OptionSpec>(specs).map(([name, { type, short, multiple }]) => [
      name,
      { type, ...(short === undefined ? {} : { short }), multiple: multiple === true },
    ]),
  );
  try {
    return parseArgs({ args: [...args], options, allowPositionals: true, tokens: true });
  } catch (error) {
    const { message } = error as Error;
    const unknown = /^Unknown option '(-[^']*)'/.exec(message)?.[1];
    if (unknown !== undefined) {
      const near = didYouMean(unknown.replace(/^-+/, ""), Object.keys(specs), "--");
      throw new UsageError(`${unknown} is not an option.`, near + hint);
    }
    const option = /^Option '(--[^' ]*)' argument is ambiguous/.exec(message)?.[1];
    if (option !== undefined) throw withDash(option, args, specs);
    const [sentence = "The arguments are wrong"] = message.split(/\.(?:\s|$)/);
    throw new UsageError(`${sentence}.`, hint);
  }
}

/**
 * Returns the error for an option whose value begins with a dash. The error omits the value, which may be secret,
 * unless it is the name of an option.
 */
function withDash(option: string, args: readonly string[], specs: OptionSpecs): UsageError {
  const [name = ""] = args[args.indexOf(option) + 1]?.split("=") ?? [];
  const isOption = name === "-h" || Object.keys(specs).some((key) => `--${key}` === name);
  return new UsageError(
    isOption
      ? `${option} has no value, because ${name} is an option.`
      : `The value of ${option} begins with a dash.`,
    `Write it as ${option}=-…, in quotes if it contains spaces.`,
  );
}

/**
 * Checks the options and arguments with the value `-`, which stands for stdin.
 *
 * @throws UsageError if the command does not read stdin for such an option, or would read stdin more than once
 */
function assertStdinOnce(
  { options: specs, args: names = [], rest }: Command,
  { args, options }: Pick<Arguments, "args" | "options">,
): void {
  const readers: string[] = [...names, rest].includes("file")
    ? args.filter((arg) => arg === "-")
    : [];
  for (const [name, { value, isInput }] of Object.entries(specs)) {
    const values: readonly unknown[] = [options[name]].flat();
    const count = values.filter((item) => item === "-" || item === true).length;
    if (isInput === true) readers.push(...Array<string>(count).fill(`--${name}`));
    else if (values.includes("-") && ["file", "folder", "module"].includes(value ?? "")) {
      throw new UsageError(
        `--${name} cannot be -, because this command does not use stdin or stdout for it.`,
        `Pass a path. For a ${value} named -, write --${name} ./-.`,
      );
    }
  }
  if (readers.length < 2) return;
  throw new UsageError(
    `Stdin cannot be read twice, for ${readers.join(" and ")}.`,
    "Save one of them to a file, and pass its path.",
  );
}

const withDefaults = (specs: OptionSpecs, values: Readonly<Record<string, unknown>>) =>
  Object.fromEntries(
    Object.entries(specs).map(([name, { type, multiple, default: initial }]) => [
      name,
      values[name] ?? (type === "boolean" ? false : multiple === true ? [] : initial),
    ]),
  );
