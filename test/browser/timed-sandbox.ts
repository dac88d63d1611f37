import type { Sandbox, SandboxOptions } from "@svc-webhooks/sandbox";

let now = 0;

/** Moves the sandbox's real time, in milliseconds: the current work takes that long. */
export const takes = (ms: number): void => void (now += ms);

/**
 * Creates a sandbox whose durations are chosen with `takes` instead of measured, so that they are the same in
 * each run. Its other timers are real. Nothing else in the process may load the sandbox earlier.
 */
export async function timedSandbox(options: SandboxOptions): Promise<Sandbox> {
  // The package keeps the function that exists when it is loaded.
  Object.defineProperty(performance, "now", { configurable: true, value: () => now });
  try {
    const { createSandbox } = await import("@svc-webhooks/sandbox");
    return createSandbox(options);
  } finally {
    // The real function is that of the prototype.
    Reflect.deleteProperty(performance, "now");
  }
}
