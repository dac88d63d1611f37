import { afterAll, vi } from "vitest";

// Files that share a process also share the objects that these functions replace.
afterAll(() => {
  vi.useRealTimers();
  vi.restoreAllMocks();
  vi.unstubAllEnvs();
  vi.unstubAllGlobals();
});
