import { performance } from "node:perf_hooks";

/*
 * The timers and the real time of the process, as they were when the package was loaded. A test's fake
 * timers (`vi.useFakeTimers()`, `jest.useFakeTimers()`) replace the globals later. The sandbox has its own
 * clock, and would wait forever for fake timers.
 */
export const setTimeout: typeof globalThis.setTimeout = globalThis.setTimeout;
export const clearTimeout: typeof globalThis.clearTimeout = globalThis.clearTimeout;
export const setInterval: typeof globalThis.setInterval = globalThis.setInterval;
export const clearInterval: typeof globalThis.clearInterval = globalThis.clearInterval;
export const setImmediate: typeof globalThis.setImmediate = globalThis.setImmediate;
export const clearImmediate: typeof globalThis.clearImmediate = globalThis.clearImmediate;

/** Returns the real milliseconds since the process started. They are never set back. */
export const realNow: () => number = performance.now.bind(performance);

/** The time at which the process started, in epoch milliseconds. */
export const realOrigin: number = performance.timeOrigin;
