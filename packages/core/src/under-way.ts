import { checkRange } from "./check.js";
import type { Clock } from "./clock.js";
import { withDeadline, type StoreCall } from "./promise.js";
import type { Visit } from "./visit.js";

/** What has been begun and has not come to its end. */
export interface UnderWay {
  /** Keeps `work`, which never rejects, until it settles. */
  readonly add: (visit: Visit, work: Promise<unknown>) => void;
  /** Waits until nothing is left, or for `deadlineMs`; answers how many deliveries are left. */
  readonly drain: (options: { readonly deadlineMs: number }) => Promise<number>;
}

export function underWayBy(clock: Clock): UnderWay {
  const works = new Map<Promise<unknown>, Visit>();

  const idle = async ({ signal }: StoreCall) => {
    // What settles may leave more work behind, so look again.
    while (works.size > 0 && !signal.aborted) await Promise.all(works.keys());
  };

  return {
    add(visit, work) {
      works.set(work, visit);
      void work.finally(() => works.delete(work));
    },

    async drain({ deadlineMs }) {
      checkRange({ deadlineMs }, 0, 2_147_483_647);
      // Everything else here lets a process exit that has nothing left to do; who drains wants to stay.
      const awake = setInterval(() => {}, 60_000);
      try {
        await withDeadline(clock, deadlineMs, "drain", idle);
      } catch {
        // The count tells.
      }
      clearInterval(awake);
      return new Set(works.values()).size;
    },
  };
}
