/**
 * Calls `use`, which accesses the browser's storage. Returns undefined if the access fails. The user's choices are then
 * lost when the page is closed.
 */
export function stored<T>(use: () => T): T | undefined {
  try {
    return use();
  } catch {
    return undefined;
  }
}
