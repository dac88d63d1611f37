import { ReceiverConfigError, type ReceiverConfigErrorCode } from "../errors.js";

/**
 * Throws unless `ok`. `text` is a whole sentence with the fix. It never contains the value, which
 * may be a key.
 */
export function assertOption(
  ok: unknown,
  code: ReceiverConfigErrorCode,
  option: string,
  text: string,
): asserts ok {
  if (!ok) throw new ReceiverConfigError(code, option, text);
}

/**
 * Asserts that each member of `values`, keyed by its option, is a whole number from `min` to `max`.
 */
export function assertRange(
  values: Readonly<Record<string, number>>,
  min: number,
  max: number,
): void {
  for (const [option, value] of Object.entries(values)) {
    assertOption(
      Number.isSafeInteger(value) && value >= min && value <= max,
      "invalid_option",
      option,
      `${option} must be a whole number from ${min} to ${max}.`,
    );
  }
}

/**
 * Throws if destructuring left any option over: a misspelt option must not silently become its
 * default.
 */
export function assertNoRest(rest: object): void {
  for (const name of Object.keys(rest)) {
    assertOption(false, "unknown_option", name, `${name} is not a known option.`);
  }
}
