import type { Scheduler } from "./clock.js";
import type { Faults } from "./faults.js";
import type { Ids } from "./lib/ids.js";
import type { Ledger } from "./assumptions/ledger.js";
import type { State } from "./state/state.js";

/** The parts that the whole sandbox shares. */
export interface World {
  readonly state: State;
  readonly ledger: Ledger;
  readonly clock: Scheduler;
  readonly ids: Ids;
  readonly faults: Faults;
  /** Prints a line for the operator. The line must not contain a body, an address or a key. */
  readonly log: (line: string) => void;
}
