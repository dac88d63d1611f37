import { UsageError } from "../errors.js";

/**
 * Rejects options that have no effect without `--scheme`.
 *
 * @throws UsageError if one of them is given
 */
export function assertWithScheme(given: Readonly<Record<string, unknown>>): void {
  for (const [name, value] of Object.entries(given)) {
    if (value === undefined || value === false || (Array.isArray(value) && value.length === 0))
      continue;
    throw new UsageError(`--${name} needs --scheme.`, `Add --scheme <name>, or remove --${name}.`);
  }
}
