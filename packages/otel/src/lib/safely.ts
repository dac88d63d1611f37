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
export const warn = (error: unknown): void => advise("telemetry failed", error);

/** Reports a mistake in the set-up to OpenTelemetry's own diagnostics. Never throws. */
export function advise(text: string, ...details: readonly unknown[]): void {
  try {
    diag.warn(`svc-webhooks: ${text}`, ...details);
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
