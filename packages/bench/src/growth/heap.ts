/** Returns the bytes that are in use on the heap. Sections run with --expose-gc. */
export function heapUsed(): number {
  // The second collection frees what the first one released.
  globalThis.gc?.();
  globalThis.gc?.();
  return process.memoryUsage().heapUsed;
}
