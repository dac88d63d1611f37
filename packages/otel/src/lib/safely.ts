import { diag } from "@opentelemetry/api";

/** Returns the result of `work`, or undefined if it throws. Reports the error to OpenTelemetry's own diagnostics. */
export function attempt<T>(work: () => T): T | undefined {
  try {
    return work();
  } catch (error) {
    warn(error);
    return undefined;
  }
}

/** Reports an error to OpenTelemetry's own diagnostics. Never throws. */
export function warn(error: unknown): void {
  try {
    diag.warn("svc-webhooks: telemetry failed", error);
  } catch {
    // The application's logger of diagnostics has failed: nothing is left to report to.
  }
}

/** Calls `work` exactly once, inside `enter` if possible, and returns or throws what it does, whatever `enter` does. */
export function within<T>(enter: (work: () => void) => unknown, work: () => T): T {
  let result: (() => T) | undefined;
  const once = () => {
    if (result) return;
    try {
      const value = work();
      result = () => value;
    } catch (error) {
      result = () => {
        throw error;
      };
    }
  };
  attempt(() => enter(once));
  once();
  return (result as unknown as () => T)();
}
