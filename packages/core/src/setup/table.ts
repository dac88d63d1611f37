import type { Fields } from "../events.js";
import { assertOption, assertOptions } from "../texts/assert.js";

/** Options whose defaults have been applied. */
export type Complete<Options> = {
  readonly [Name in keyof Options]-?: Exclude<Options[Name], undefined>;
};

/**
 * A row for each option: a function that returns the default, the check of a value, and the limits of a number. The
 * function receives the options of the rows above its own, and the value that was passed.
 */
export type OptionTable<Options> = {
  readonly [Name in keyof Options]-?: (
    above: Options,
    passed: Options[Name] | undefined,
  ) => readonly [
    byDefault: Options[Name] | undefined,
    check: (value: Options[Name], min: number, max: number) => unknown,
    min?: number,
    max?: number,
  ];
};

export const isFunction = (value: unknown): boolean => typeof value === "function";

export const hasMethods =
  (...names: readonly string[]) =>
  (value: unknown): boolean =>
    names.every((name) => isFunction((Object(value) as Fields)[name]));

/**
 * Returns the options with their defaults, checked in the order of the table.
 *
 * @param path the option that has these members; default: none
 * @throws ConfigError `unknown_option`, `invalid_option`
 */
export function readOptions<Options>(
  options: object,
  table: OptionTable<Options>,
  path = "",
): Options {
  // Names are checked first, because a misspelled option could otherwise be reported as a missing one.
  assertOptions(options, Object.keys(table), path);
  const resolved: Record<string, unknown> = {};
  for (const [name, row] of Object.entries(table as unknown as OptionTable<Fields>)) {
    const { [name]: passed } = options as Fields;
    const [byDefault, check, min, max] = row(resolved, passed);
    const value = passed === undefined ? byDefault : passed;
    // Only a value that was passed is checked here. A default is valid, or means that the option is absent.
    const ok = passed === undefined || check(value, min as number, max as number);
    assertOption(ok, "invalid_option", path ? `${path}.${name}` : name, value, min, max);
    resolved[name] = value;
  }
  return resolved as Options;
}
