import type { Readable } from "node:stream";
import type { Line, Output } from "./paint.js";

/** An option of a command. `parseArgs`, `--help` and the pages in `docs/cli` are made from it. */
export interface OptionSpec {
  readonly type: "string" | "boolean";
  readonly short?: string;
  readonly multiple?: boolean;
  readonly default?: string;
  readonly required?: boolean;
  /** The name of its value in the help. */
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
  /** Data. */
  readonly stdout: Output;
  /** Everything that is not data. */
  readonly stderr: Output;
  /** Aborted by Ctrl-C. */
  readonly signal: AbortSignal;
}

export interface Context<Specs extends OptionSpecs = OptionSpecs> extends Process {
  readonly args: readonly string[];
  readonly options: ValuesOf<Specs>;
  readonly json: boolean;
  /**
   * Writes a result to stdout: the value as one line of JSON with `--json`, the lines else. Control
   * characters and secrets of what they contain are not written, except `revealed`.
   */
  readonly show: (value: object, lines: readonly Line[], revealed?: string) => void;
  /** Writes a line for people to stderr, as `show` does. */
  readonly note: (line: string) => void;
}

/** 1: the command ran and its result is negative. */
export type ExitCode = 0 | 1;

export interface Command<Specs extends OptionSpecs = OptionSpecs> {
  /** The arguments after the command's name. */
  readonly usage: string;
  /** The names of its arguments. All are required. */
  readonly args?: readonly string[];
  /** Paragraphs of its help. */
  readonly details: readonly string[];
  /** Command lines of its help. */
  readonly examples: readonly string[];
  readonly options: Specs;
  run(context: Context<Specs>): Promise<ExitCode>;
}

/** Infers the options, so that `run` has their types. */
export const command = <const Specs extends OptionSpecs>(one: Command<Specs>): Command<Specs> =>
  one;
