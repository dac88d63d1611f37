import { TimeoutError } from "../errors.js";
import type { ClientClock } from "../http/clock.js";
import type { RequestOptions } from "../options.js";
import type { SendState, SendStatus } from "../resources.js";

export interface WaitOptions extends RequestOptions {
  /**
   * The status to wait for, several of them, or a function that returns whether it is reached. Default:
   * `delivered`, `bounced` or `failed`, which nothing follows.
   */
  readonly until?: SendState | readonly SendState[] | ((send: SendStatus) => boolean) | undefined;
  /** Milliseconds for the whole wait, not for each request. Default 60,000. */
  readonly deadlineMs?: number | undefined;
}

const final: readonly SendState[] = ["delivered", "bounced", "failed"];

/** Milliseconds between two requests. Each pause is half as long again as the one before. */
const firstPause = 250;
const longestPause = 5_000;

/**
 * Requests the status of a send until it is reached.
 *
 * @throws TimeoutError `deadline_exceeded` if it is not reached in time, and what `sends.get` throws
 */
export async function waitForSend(
  get: (id: string, options: RequestOptions) => Promise<SendStatus>,
  clock: ClientClock,
  id: string,
  { until = final, deadlineMs = 60_000, ...options }: WaitOptions = {},
): Promise<SendStatus> {
  const states = typeof until === "string" ? [until] : until;
  const isReached =
    typeof states === "function" ? states : ({ status }: SendStatus) => states.includes(status);
  const deadline = clock.now() + deadlineMs;
  for (let pause = firstPause; ; pause = Math.min(longestPause, pause * 1.5)) {
    const left = deadline - clock.now();
    const send = await get(id, { ...options, deadlineMs: Math.max(1, left) });
    if (isReached(send)) return send;
    if (clock.now() + pause >= deadline) {
      const message = `The send ${id} is ${send.status} after ${deadlineMs / 1_000} s.`;
      throw new TimeoutError({ code: "deadline_exceeded", message });
    }
    await clock.sleep(pause, options.signal);
  }
}
