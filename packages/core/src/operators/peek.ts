import type { ForgetTarget } from "../delivery.js";
import type { Config } from "../setup/config.js";
import { hasMethods } from "../setup/table.js";
import type { RecordState } from "../store.js";
import { assertOption } from "../texts/assert.js";
import { operatorCall } from "./operator-call.js";
import { targetKey } from "./target-key.js";

const states = new Set<unknown>([undefined, "running", "failed", "parked", "done"]);

/** The maximum number of records that one store call reads. */
const batch = 1_000;

/** Resolves to the states of the targets' records, without changing them. */
export async function peek(
  config: Config,
  targets: readonly ForgetTarget[],
): Promise<readonly (RecordState | undefined)[]> {
  const { store } = config;
  assertOption(hasMethods("peek")(store), "invalid_option", "store.peek");
  assertOption(Array.isArray(targets), "invalid_option", "targets", targets);
  const all: (RecordState | undefined)[] = [];
  for (let start = 0; start < targets.length; start += batch) {
    const some = targets.slice(start, start + batch);
    const keys = await Promise.all(Array.from(some, (target) => targetKey(config, target)));
    const result = await operatorCall(config, "peek", (call) => store.peek?.(keys, call));
    // A third-party store may return anything. The result is checked, because a wrong state could hide a lost event.
    const isValid =
      Array.isArray(result) &&
      result.length === keys.length &&
      result.every((state) => states.has(state));
    assertOption(isValid, "invalid_option", "store.peek()", result);
    all.push(...(result as typeof all));
  }
  return all;
}
