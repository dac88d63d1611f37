import type { Readable } from "node:stream";
import type { Line, Output } from "./paint.js";

/** An option of a command. It configures `parseArgs`, and appears in the help text and the pages in `docs/cli`. */
export interface OptionSpec {
  readonly type: "string" | "boolean";
  readonly short?: string;
  readonly multiple?: boolean;
  readonly default?: string;
  readonly required?: boolean;
  /** The values that the option accepts. Default: any. */
  readonly values?: readonly string[];
  /** Whether the command reads the file that the value names (`-` is stdin), or stdin if the option is boolean. */
  readonly isInput?: boolean;
  /** The placeholder for the option's value in the help text. Default: `text`. */
  readonly value?: string;
  readonly text: string;
}

export type OptionSpecs = Readonly<Record<string, OptionSpec>>;

type ValueOf<Spec extends OptionSpec> = Spec extends { readonly type: "boolean" }
  ? boolean
  : Spec extends { readonly multiple: true }
    ? readonly string[]
    : Spec extends { readonly required: true } | { readonly default: string }
      ? string
      : string | undefined;

export type ValuesOf<Specs extends OptionSpecs> = {
  readonly [Name in keyof Specs]: ValueOf<Specs[Name]>;
};

/** The parts of the process that a command may use. */
export interface Process {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly stdin: Readable & { readonly isTTY?: boolean };
  /** The stream for the command's results. */
  readonly stdout: Output;
  /** The stream for everything else, such as notes, progress and errors. */
  readonly stderr: Output;
  /** Aborted by the first Ctrl-C, SIGTERM or SIGHUP, and if the output cannot be written. */
  readonly signal: AbortSignal;
  /**
   * Aborted if it has a listener and a second Ctrl-C, SIGTERM or SIGHUP arrives more than 250 ms after the first. The
   * process then ends within 2 s. Without a listener, the second signal ends the process immediately.
   */
  readonly urgent?: AbortSignal;
}

export interface Context<Specs extends OptionSpecs = OptionSpecs> extends Process {
  readonly args: readonly string[];
  readonly options: ValuesOf<Specs>;
  readonly json: boolean;
  /**
   * Writes a result to stdout: `value` as one line of JSON with `--json`, and otherwise `lines`. Removes or escapes
   * control characters, and masks secrets except `revealed`.
   */
  readonly show: (value: object, lines: readonly Line[], revealed?: string) => void;
  /** Writes a line for people to stderr. Removes control characters and masks secrets. */
  readonly note: (line: string) => void;
}

/** The exit code of a command that ran to its end: 0, or 1 if its result is negative. */
export type ExitCode = 0 | 1;

export interface Command<Specs extends OptionSpecs = OptionSpecs> {
  /** The part of the usage line after the command's name. */
  readonly usage: string;
  /** The names of the command's arguments. All are required. */
  readonly args?: readonly string[];
  /** The values that the first argument accepts. Default: any. */
  readonly argValues?: readonly string[];
  /** The name of further arguments after `args`. At least one is required. They may follow `--`. */
  readonly rest?: string;
  /** The paragraphs of the command's help. */
  readonly details: readonly string[];
  /** The example command lines in the command's help. */
  readonly examples: readonly string[];
  /** Whether the command exits with 3 if its test could not run. */
  readonly canNotRun?: boolean;
  readonly options: Specs;
  run(context: Context<Specs>): Promise<ExitCode>;
}

/** An entry in the list of commands. */
export interface CommandEntry {
  /** The command's name: up to three words. */
  readonly name: string;
  readonly summary: string;
  /** Imports the command and its dependencies, so that they are loaded only when needed. */
  readonly load: () => Promise<Command>;
}

/** Returns the definition unchanged, so that TypeScript infers the types of the options that `run` receives. */
export const command = <const Specs extends OptionSpecs>(
  definition: Command<Specs>,
): Command<Specs> => definition;
