import { invalid, notFound } from "./errors.js";
import type { Ids } from "./lib/ids.js";
import type { FaultRecord } from "./state/records.js";
import type { State } from "./state/state.js";

/** Returns the status of a fault of kind `status`. */
export const faultStatus = ({ status = 500 }: FaultRecord): number => status;

/** Returns the delay of a fault of kind `slow`, in milliseconds. */
export const faultDelayMs = ({ delayMs = 1_000 }: FaultRecord): number => delayMs;

export const slotsLeft = ({ slots, cancelled }: FaultRecord): number =>
  cancelled ? 0 : slots.filter(({ usedBy }) => usedBy === undefined).length;

/** Manages the faults that the developer has set up for an endpoint (`we_…`) or a route (`POST /v1/emails`). */
export function createFaults(state: State, ids: Ids) {
  return {
    add({
      times,
      ...fault
    }: Omit<FaultRecord, "id" | "slots" | "cancelled"> & { readonly times: number }): FaultRecord {
      if (fault.target.startsWith("we_")) {
        if (!state.endpoints.get(fault.target))
          throw notFound("target", `There is no endpoint ${fault.target}.`);
      } else if (fault.kind === "duplicate") {
        throw invalid(
          "kind",
          "Requests cannot be duplicated. A fault of the kind duplicate needs an endpoint as its target.",
        );
      }
      return state.faults.put({
        id: ids.next("fault"),
        ...fault,
        slots: Array.from({ length: times }, () => ({})),
      });
    },
    cancel(id: string): FaultRecord {
      const fault = state.faults.get(id);
      if (!fault) throw notFound("id", `There is no fault ${id}.`);
      fault.cancelled = true;
      return state.faults.put(fault);
    },
    /** Uses the oldest remaining fault for `target`. `usedBy` is the call or delivery that it affects. */
    take(target: string, usedBy: string): FaultRecord | undefined {
      for (const fault of state.faults.all()) {
        const slot =
          fault.target === target && !fault.cancelled
            ? fault.slots.find((candidate) => candidate.usedBy === undefined)
            : undefined;
        if (!slot) continue;
        slot.usedBy = usedBy;
        return state.faults.put(fault);
      }
      return undefined;
    },
  };
}

export type Faults = ReturnType<typeof createFaults>;
