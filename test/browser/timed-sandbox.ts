import type { Sandbox, SandboxOptions } from "@svc-webhooks/sandbox";

let now = 0;

/** Moves the sandbox's real time, in milliseconds: what is running takes that long. */
export const takes = (ms: number): void => void (now += ms);

/**
 * A sandbox whose durations are chosen with `takes` instead of measured, so that each run has the same. Its
 * other timers are real. Nothing else in the process may load the sandbox earlier.
 */
export async function timedSandbox(options: SandboxOptions): Promise<Sandbox> {
  // The package keeps the function that it finds when it is loaded.
  Object.defineProperty(performance, "now", { configurable: true, value: () => now });
  try {
    const { createSandbox } = await import("@svc-webhooks/sandbox");
    return createSandbox(options);
  } finally {
    // The real one is that of its prototype.
    Reflect.deleteProperty(performance, "now");
  }
}
