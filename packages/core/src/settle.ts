import { attempt, type MaybePromise } from "./promise.js";
import { callStore } from "./store-call.js";
import type { ReleaseRequest } from "./store.js";
import type { Visit } from "./visit.js";

const retryMs = 1_000;

/** Tells the store how the claim ended; what fails is tried on in the background. */
export function settle(visit: Visit, to?: ReleaseRequest["to"]): MaybePromise<void> {
  return attempt<unknown, void>(
    () => tell(visit, to),
    () => {},
    (error) => {
      if (!to) visit.warn("complete_failed");
      // What became of an unused claim is told by the answer already.
      if (to !== "unused") visit.config.onInternalError(error);
      visit.background(persist(visit, to));
    },
  );
}

/** Tries until it succeeds or the lease ends: then the record belongs to whoever comes first. */
async function persist(visit: Visit, to: ReleaseRequest["to"] | undefined): Promise<void> {
  const { clock } = visit.config;
  while (clock.monotonic() < visit.leaseEndsAt) {
    await new Promise<void>((resume) => clock.after(retryMs, resume));
    try {
      await tell(visit, to);
      return;
    } catch {
      // The first failure was reported.
    }
  }
}

const tell = (visit: Visit, to: ReleaseRequest["to"] | undefined) =>
  callStore(visit, to ? "release" : "complete", to);
