import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { settled } from "./settled.js";

setFlagsFromString("--expose-gc");

/** Collects garbage before it returns. Objects to which the stack or a pending job of V8 refers remain. */
export const collectGarbage = runInNewContext("gc") as () => void;

const mostCollections = 100;

/**
 * Returns how many of the objects remain after repeated collections, each in a turn of its own: those that the code
 * holds. A single collection may leave any number that only the engine still refers to. Stops as soon as no more than
 * `permitted` remain.
 */
export async function remaining(
  objects: readonly WeakRef<object>[],
  permitted = 0,
): Promise<number> {
  for (let left = mostCollections; ; left -= 1) {
    await settled();
    collectGarbage();
    const count = objects.filter((one) => one.deref()).length;
    if (count <= permitted || left === 0) return count;
  }
}
