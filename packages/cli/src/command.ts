import type { Readable } from "node:stream";
import type { Line, Output } from "./paint.js";

/** An option of a command, from which `parseArgs`, `--help` and the pages in `docs/cli` are made. */
export interface OptionSpec {
  readonly type: "string" | "boolean";
  readonly short?: string;
  readonly multiple?: boolean;
  readonly default?: string;
  readonly required?: boolean;
  /** The name of the option's value in the help. */
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

/** The parts of its process that a command may use. */
export interface Process {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly stdin: Readable & { readonly isTTY?: boolean };
  /** The output for data. */
  readonly stdout: Output;
  /** The output for everything that is not data. */
  readonly stderr: Output;
  /** Aborted by Ctrl-C. */
  readonly signal: AbortSignal;
}

export interface Context<Specs extends OptionSpecs = OptionSpecs> extends Process {
  readonly args: readonly string[];
  readonly options: ValuesOf<Specs>;
  readonly json: boolean;
  /**
   * Writes a result to stdout: with `--json` the value as one line of JSON, otherwise the lines. Control
   * characters and secrets in them are not written, except `revealed`.
   */
  readonly show: (value: object, lines: readonly Line[], revealed?: string) => void;
  /** Writes a line for people to stderr, with the same filter as `show`. */
  readonly note: (line: string) => void;
}

/** The exit code of a command that ran: 1 if its result is negative. */
export type ExitCode = 0 | 1;

export interface Command<Specs extends OptionSpecs = OptionSpecs> {
  /** The usage after the command's name. */
  readonly usage: string;
  /** The names of the command's arguments. All are required. */
  readonly args?: readonly string[];
  /** The name of any number of further arguments, at least one, which may follow `--`. */
  readonly rest?: string;
  /** The paragraphs of the command's help. */
  readonly details: readonly string[];
  /** The command lines in the command's help. */
  readonly examples: readonly string[];
  readonly options: Specs;
  run(context: Context<Specs>): Promise<ExitCode>;
}

/** Infers the types of the options for `run`. */
export const command = <const Specs extends OptionSpecs>(one: Command<Specs>): Command<Specs> =>
  one;
