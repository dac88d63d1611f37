/** Accesses the browser's storage. Returns undefined if access is denied: a choice then lasts as long as the page. */
export function stored<T>(use: () => T): T | undefined {
  try {
    return use();
  } catch {
    return undefined;
  }
}
