import { AsyncLocalStorage } from "node:async_hooks";
import type { SimulatedProcess } from "./process.js";
import type { VirtualTime } from "./time.js";

/** The context of code that runs in a history. Code that runs without such a context uses the real globals. */
export interface Inside {
  readonly time: VirtualTime;
  /** Returns the next number of the history's random sequence, from 0 to below 1. */
  readonly random: () => number;
  /** The process that runs the code. Undefined for the outside world: `respond`, functions of effects, the database. */
  readonly process?: SimulatedProcess | undefined;
  /** The attempt that the code handles, as an index into the attempts of the history. */
  readonly attempt?: number | undefined;
  /** Whether the code is PostgreSQL. Its `setTimeout` never fires: the simulated server applies the timeouts. */
  readonly isDatabase?: boolean | undefined;
  /** Whether to record the places at which the code creates promises. */
  readonly isTraced?: boolean | undefined;
  readonly fetch: typeof fetch;
  /** Records access that is not a crossing. `type` is Node's type of the asynchronous resource. */
  readonly onUnseen: (type: string) => void;
  /** Ends the simulated process because of an uncaught error, as Node ends a real process. */
  readonly onUncaught: (error: unknown) => void;
  /** The async ids of pending operations of the platform, such as file reads, that the code has started. */
  readonly pendingOperations: Set<number>;
}

/** The context of the running code, which follows the code through promises and callbacks. */
export const inside: AsyncLocalStorage<Inside> = new AsyncLocalStorage();
