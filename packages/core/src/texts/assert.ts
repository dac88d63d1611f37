import { explain } from "#texts";
import { ConfigError, type ConfigErrorCode } from "../errors.js";
import { isObject } from "../lib/is-object.js";

/**
 * Throws a `ConfigError` unless `ok`. The text depends on the code and the option; of `value`, it shows only
 * numbers and option names.
 */
export function assertOption(
  ok: unknown,
  code: ConfigErrorCode,
  option: string,
  value?: unknown,
  min?: number,
  max?: number,
): asserts ok {
  if (!ok) throw new ConfigError(code, option, explain(code, option, value, min, max));
}

/**
 * For adapters and stores: asserts that `options` is an object whose members are all in `names`, because a misspelled
 * option would otherwise be ignored silently. `path` is the option that has these members; default: none.
 *
 * @throws ConfigError `invalid_option` if it is not an object, `unknown_option` for another
 *   member
 *
 * @example
 * ```ts
 * import assert from "node:assert/strict";
 * import { assertOptions } from "svc-webhooks/adapter";
 *
 * assertOptions({ prefix: "a:" }, ["prefix"]);
 * assert.throws(() => assertOptions({ prefx: "a:" }, ["prefix"]), {
 *   code: "unknown_option",
 *   option: "prefx",
 * });
 * ```
 */
export function assertOptions(options: unknown, names: readonly string[], path = ""): void {
  assertOption(isObject(options), "invalid_option", path || "options", options);
  for (const name of Object.keys(options)) {
    assertOption(names.includes(name), "unknown_option", path ? `${path}.${name}` : name, names);
  }
}
