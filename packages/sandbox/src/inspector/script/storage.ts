/** Accesses the browser's storage. If the browser denies access, a choice lasts only as long as the page. */
export function stored<T>(use: () => T): T | undefined {
  try {
    return use();
  } catch {
    return undefined;
  }
}
