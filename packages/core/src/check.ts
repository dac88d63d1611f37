import { ReceiverConfigError, type ReceiverConfigErrorCode } from "./errors.js";

/** Throws unless `ok`. The text never shows the value: it may be a key. */
export function check(
  ok: unknown,
  option: string,
  mustBe: string,
  code: ReceiverConfigErrorCode = "invalid_option",
): asserts ok {
  if (!ok) throw new ReceiverConfigError(code, option, mustBe);
}

/** Checks each member of `values`, named by its option, to be a whole number from `min` to `max`. */
export function checkRange(
  values: Readonly<Record<string, number>>,
  min: number,
  max: number,
): void {
  for (const [option, value] of Object.entries(values)) {
    check(
      Number.isSafeInteger(value) && value >= min && value <= max,
      option,
      `a whole number from ${min} to ${max}`,
    );
  }
}

/** Refuses what destructuring left over: a misspelt option must not become a default. */
export function checkNoRest(rest: object): void {
  for (const name of Object.keys(rest)) {
    check(false, name, "a known option", "unknown_option");
  }
}
