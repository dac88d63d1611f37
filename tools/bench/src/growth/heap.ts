/** Returns the bytes in use on the heap after a garbage collection, which needs --expose-gc. Sections run with it. */
export function heapUsed(): number {
  // Collects twice, because the second collection frees memory that the first one released.
  globalThis.gc?.();
  globalThis.gc?.();
  return process.memoryUsage().heapUsed;
}
