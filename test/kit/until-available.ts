import { until } from "./until.js";

/**
 * Resolves when the condition is true. A queue of a busy machine may respond too late to a call that the condition makes
 * (`queue_unavailable`), and then the call is made again, as an operator would.
 */
export const untilAvailable = (condition: () => Promise<boolean>, what: string): Promise<void> =>
  until(
    () =>
      condition().catch((error: unknown) => {
        if ((error as { readonly code?: unknown }).code === "queue_unavailable") return false;
        throw error;
      }),
    what,
  );
