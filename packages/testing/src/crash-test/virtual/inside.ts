import { AsyncLocalStorage } from "node:async_hooks";
import type { SimulatedProcess } from "./process.js";
import type { VirtualTime } from "./time.js";

/** The history in which code runs. Code outside of any history sees the real world. */
export interface Inside {
  readonly time: VirtualTime;
  /** Returns the next number from 0 to 1 of the history's random sequence. */
  readonly random: () => number;
  /** Absent for the outside world: `respond`, the functions behind effects, the database. */
  readonly process?: SimulatedProcess | undefined;
  /** The delivery that the code handles: an index into the attempts of the history. */
  readonly attempt?: number | undefined;
  /** Whether the code is PostgreSQL: its own timers never fire, because the server of the history has its timeouts. */
  readonly isDatabase?: boolean | undefined;
  /** Whether the places at which promises are created are noted. */
  readonly isTraced?: boolean | undefined;
  readonly fetch: typeof fetch;
  /** Records access to a resource of a type of Node that is not a crossing. */
  readonly onUnseen: (type: string) => void;
  /** Ends the process, as an error that nothing catches ends Node. */
  readonly onUncaught: (error: unknown) => void;
  /** Asynchronous operations of the platform that this code has started and that have not ended. */
  readonly pendingOperations: Set<number>;
}

/** The current history, which follows the code through its promises. */
export const inside: AsyncLocalStorage<Inside> = new AsyncLocalStorage();
