import { onTestFinished } from "vitest";
import { createClock } from "../src/clock/create-clock.js";
import { createFaults } from "../src/faults.js";
import { createIds } from "../src/lib/ids.js";
import { createLedger } from "../src/assumptions/ledger.js";
import { createState, type StateOptions } from "../src/state/state.js";
import type { World } from "../src/world.js";

/** A world for one unit without the rest of the sandbox, on a manual clock that starts at 0. */
export function newWorld(options?: StateOptions): World & { readonly lines: readonly string[] } {
  const lines: string[] = [];
  const [state, ids] = [createState(options), createIds()];
  const clock = createClock({ mode: "manual", start: 0 });
  onTestFinished(() => clock.close());
  const faults = createFaults(state, ids);
  return {
    state,
    ids,
    clock,
    faults,
    ledger: createLedger(),
    log: (line) => void lines.push(line),
    lines,
  };
}
