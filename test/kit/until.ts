import { GaveUpError } from "./setup-errors.js";

/**
 * The sum of the pauses after which `until` gives up, in milliseconds. It takes longer on a busy machine, which needs
 * more.
 */
const mostMs = 120_000;

/**
 * Resolves when the condition is true. Rejects after two minutes of pauses, whatever the time. A pause is 5 ms, and up
 * to 100 ms after a while, because many conditions ask a server: each is a twentieth of the pauses before it.
 */
export async function until(
  condition: () => boolean | Promise<boolean>,
  what: string,
): Promise<void> {
  let pausedMs = 0;
  while (!(await condition())) {
    if (pausedMs >= mostMs) {
      throw new GaveUpError(`This did not happen within ${mostMs} ms of pauses: ${what}.`);
    }
    const pauseMs = Math.min(100, 5 + pausedMs / 20);
    await new Promise((resolve) => setTimeout(resolve, pauseMs));
    pausedMs += pauseMs;
  }
}
