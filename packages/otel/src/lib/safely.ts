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

/** Reports a text, such as a mistake in the set-up, to OpenTelemetry's own diagnostics. Never throws. */
export function advise(text: string, ...details: readonly unknown[]): void {
  try {
    diag.warn(`svc-webhooks: ${text}`, ...details);
  } catch {
    // Ignored: the application's diagnostics logger has failed, so there is nowhere left to report.
  }
}

/** Calls `work` once, inside `enter` if possible. Returns its result or throws its error, whatever `enter` does. */
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
