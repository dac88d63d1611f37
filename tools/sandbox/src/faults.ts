import { invalid, notFound } from "./errors.js";
import type { Ids } from "./lib/ids.js";
import type { FaultKind, FaultRecord } from "./state/records.js";
import type { State } from "./state/state.js";

/** Returns the response status that a fault of kind `status` causes. Default 500. */
export const faultStatus = ({ status = 500 }: FaultRecord): number => status;

/**
 * Returns, in milliseconds, the delay that a fault of kind `slow` causes (default 1,000), or the longest time for which
 * a fault of kind `reorder` holds a delivery (default 60,000).
 */
export const faultDelayMs = ({ kind, delayMs }: FaultRecord): number =>
  delayMs ?? (kind === "reorder" ? 60_000 : 1_000);

export const slotsLeft = ({ slots, canceled }: FaultRecord): number =>
  canceled ? 0 : slots.filter(({ usedBy }) => usedBy === undefined).length;

/** The kinds that change deliveries. Their target must be an endpoint. */
const forEndpoints: ReadonlySet<FaultKind> = new Set(["duplicate", "reorder", "drop", "mutate"]);

interface Waiting {
  readonly fault: FaultRecord;
  readonly slot: FaultRecord["slots"][number];
}

/** Manages the faults that the developer has set up for endpoints (`we_…`) and routes (such as `POST /v1/emails`). */
export function createFaults(state: State, ids: Ids) {
  /** Yields the faults for `target` that have an unused slot, oldest first, each with that slot. */
  function* waiting(target: string) {
    for (const fault of state.faults.all()) {
      const slot =
        fault.target === target && !fault.canceled
          ? fault.slots.find((candidate) => candidate.usedBy === undefined)
          : undefined;
      if (slot) yield { fault, slot };
    }
  }

  const use = ({ fault, slot }: Waiting, usedBy: string) => {
    slot.usedBy = usedBy;
    return state.faults.put(fault);
  };

  return {
    add({
      times,
      ...fault
    }: Omit<FaultRecord, "id" | "slots" | "canceled"> & { readonly times: number }): FaultRecord {
      if (fault.target.startsWith("we_")) {
        if (!state.endpoints.get(fault.target))
          throw notFound("target", `There is no endpoint ${fault.target}.`);
      } else if (forEndpoints.has(fault.kind)) {
        throw invalid(
          "kind",
          `A fault of the kind ${fault.kind} changes deliveries, so it needs an endpoint (we_…) as its target.`,
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
      fault.canceled = true;
      return state.faults.put(fault);
    },
    /**
     * Returns the oldest fault for `target` that has an unused slot and does not hold deliveries, and uses the slot.
     * `usedBy` is the id of the call or delivery that the fault affects.
     */
    take(target: string, usedBy: string): FaultRecord | undefined {
      for (const candidate of waiting(target))
        if (candidate.fault.kind !== "reorder") return use(candidate, usedBy);
      return undefined;
    },
    /**
     * Like `take`, but considers only the oldest fault with an unused slot, and uses it only if it holds deliveries.
     */
    hold(target: string, usedBy: string): FaultRecord | undefined {
      const [oldest] = waiting(target);
      return oldest?.fault.kind === "reorder" ? use(oldest, usedBy) : undefined;
    },
  };
}

export type Faults = ReturnType<typeof createFaults>;
