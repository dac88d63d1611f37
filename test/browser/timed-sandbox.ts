import type { Sandbox, SandboxOptions } from "@svc-webhooks/sandbox";

let now = 0;

/** Advances the sandbox's `performance.now` by the duration of the current work, in milliseconds. */
export const takes = (ms: number): void => void (now += ms);

/**
 * Creates a sandbox whose durations are set with `takes` instead of measured, so that they are the same in every run.
 * Its other timers are real. Nothing else in the process may load the sandbox before this.
 */
export async function timedSandbox(options: SandboxOptions): Promise<Sandbox> {
  // The sandbox package keeps the `performance.now` that it finds when it is loaded.
  Object.defineProperty(performance, "now", { configurable: true, value: () => now });
  try {
    const { createSandbox } = await import("@svc-webhooks/sandbox");
    return createSandbox(options);
  } finally {
    // Deleting the override reveals the real function, which is on the prototype.
    Reflect.deleteProperty(performance, "now");
  }
}
