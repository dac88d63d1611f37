import { parseArgs } from "node:util";
import type { Command, OptionSpec, OptionSpecs, ValuesOf } from "./command.js";
import { UsageError } from "./errors.js";
import { commonOptions } from "./help.js";
import { didYouMean } from "./lib/nearest.js";
import { assertOneOf } from "./lib/one-of.js";

export interface Arguments {
  readonly args: readonly string[];
  readonly options: ValuesOf<OptionSpecs>;
  readonly json: boolean;
  readonly help: boolean;
}

/**
 * Reads the arguments of a command.
 *
 * @throws UsageError if an argument is unknown, repeated, missing or empty
 */
export function readArguments(name: string, args: readonly string[], command: Command): Arguments {
  const hint = `svc-webhooks ${name} --help lists its arguments and options.`;
  const end = args.indexOf("--");
  refuseSecrets(end < 0 ? args : args.slice(0, end));
  const specs: OptionSpecs = { ...command.options, ...commonOptions };
  const { values, positionals, tokens } = parse(args, specs, hint);
  const { json, help, ...given } = values;
  const { rest } = command;
  const wanted = [...(command.args ?? []), ...(rest === undefined ? [] : [rest])];
  const result = {
    args: positionals,
    options: withDefaults(command.options, given) as ValuesOf<OptionSpecs>,
    json: json === true,
    help: help === true,
  };
  if (result.help) return result;
  const names = tokens.flatMap((token) => (token.kind === "option" ? [token.name] : []));
  const repeated = names.find(
    (one, index) => specs[one]?.multiple !== true && names.indexOf(one) < index,
  );
  if (repeated !== undefined) throw new UsageError(`--${repeated} was given more than once.`, hint);
  const missing = Object.entries(command.options).find(
    ([one, { required }]) => required === true && given[one] === undefined,
  );
  if (missing) throw new UsageError(`--${missing[0]} is missing.`, hint);
  for (const [one, { values: accepted }] of Object.entries(command.options)) {
    if (accepted && given[one] !== undefined) assertOneOf(`--${one}`, String(given[one]), accepted);
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
 * Rejects secrets passed as flags: other users of the machine can see a flag's value, and it stays in the shell's
 * history.
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
    const [sentence = "The arguments are wrong"] = message.split(/\.(?:\s|$)/);
    throw new UsageError(`${sentence}.`, hint);
  }
}

const withDefaults = (specs: OptionSpecs, given: Readonly<Record<string, unknown>>) =>
  Object.fromEntries(
    Object.entries(specs).map(([name, { type, multiple, default: initial }]) => [
      name,
      given[name] ?? (type === "boolean" ? false : multiple === true ? [] : initial),
    ]),
  );
