import { callStore } from "./store-call.js";
import type { ReleaseRequest } from "./store.js";
import type { Visit } from "./visit.js";

const retryMs = 1_000;

/** Tells the store how a run ended; what fails is tried on in the background. */
export async function settle(
  visit: Visit,
  operation: "complete" | "release",
  to?: ReleaseRequest["to"],
): Promise<void> {
  try {
    await callStore(visit, operation, to);
  } catch (error) {
    if (operation === "complete") visit.warn("complete_failed");
    visit.config.internalError(error);
    visit.background(persist(visit, operation, to));
  }
}

/** Tries until it succeeds or the lease ends: then the record belongs to whoever comes first. */
export async function persist(
  visit: Visit,
  operation: "complete" | "release",
  to?: ReleaseRequest["to"],
): Promise<void> {
  const { clock } = visit.config;
  while (clock.monotonic() < visit.leaseEndsAt) {
    await new Promise<void>((resume) => clock.after(retryMs, resume));
    try {
      await callStore(visit, operation, to);
      return;
    } catch {
      // The first failure was reported.
    }
  }
}
