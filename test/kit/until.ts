import { GaveUpError } from "./setup-errors.js";

/**
 * The number of polls, of at least 5 ms each: at least two minutes, and more on a busy machine, which needs
 * more.
 */
const mostPolls = 24_000;

/** Resolves when the condition is true. Rejects after many polls, whatever the time. */
export async function until(
  condition: () => boolean | Promise<boolean>,
  what: string,
): Promise<void> {
  for (let left = mostPolls; !(await condition()); left -= 1) {
    if (left === 0) {
      throw new GaveUpError(`This did not happen within ${mostPolls} polls: ${what}.`);
    }
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}
