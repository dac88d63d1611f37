import { afterAll, vi } from "vitest";

// Files that share a process also share what these replace.
afterAll(() => {
  vi.useRealTimers();
  vi.restoreAllMocks();
  vi.unstubAllEnvs();
  vi.unstubAllGlobals();
});
