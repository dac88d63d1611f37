/** Resolves when the condition is true. Rejects after `withinMs`, 10 s by default. */
export async function until(
  condition: () => boolean | Promise<boolean>,
  what: string,
  withinMs = 10_000,
): Promise<void> {
  const end = performance.now() + withinMs;
  while (!(await condition())) {
    if (performance.now() > end) {
      throw new Error(`This did not happen within ${withinMs / 1_000} s: ${what}.`);
    }
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}
