/**
 * Repeats a run with the next seeds until its result shows a mistake. No number of strikes guarantees that one of them
 * comes at the moment that matters.
 */
export async function untilShown<Result extends { readonly summary: string }>(
  run: (seed: string) => Promise<Result>,
  shows: (result: Result) => boolean,
): Promise<Result> {
  for (let seed = 1; ; seed += 1) {
    const result = await run(String(seed));
    console.log(result.summary);
    if (shows(result)) return result;
  }
}
