import { SvcError, TimeoutError } from "../errors.js";
import type { ClientClock } from "../http/clock.js";
import type { RequestOptions } from "../options.js";
import type { SendState, SendStatus } from "../resources.js";

export interface WaitOptions extends RequestOptions {
  /**
   * The status to wait for, several of them, or a function that returns whether it is reached. A status that
   * is in the send's history counts too. Default: `delivered`, `bounced` or `failed`, which nothing follows
   * (A-01).
   */
  readonly until?:
    | SendState
    | readonly SendState[]
    | ((send: SendStatus) => boolean | Promise<boolean>)
    | undefined;
  /** Milliseconds for the whole wait, not for each request: 1 to 2^31 − 1. Default 60,000. */
  readonly deadlineMs?: number | undefined;
}

const final: readonly SendState[] = ["delivered", "bounced", "failed"];

/** Milliseconds between two requests. Each pause is half as long again as the one before. */
const firstPause = 250;
const longestPause = 5_000;

/**
 * Requests the status of a send until it is reached.
 *
 * @throws TimeoutError `deadline_exceeded` if it is not reached in time, SvcError `not_reached` if the send
 *   has another final status, and what `sends.get` throws
 */
export async function waitForSend(
  get: (id: string, options: RequestOptions) => Promise<SendStatus>,
  clock: ClientClock,
  id: string,
  { until = final, deadlineMs = 60_000, ...options }: WaitOptions = {},
): Promise<SendStatus> {
  const states = typeof until === "string" ? [until] : until;
  const isReached =
    typeof states === "function"
      ? states
      : ({ status, history = [] }: SendStatus) =>
          [{ status }, ...history].some((entry) => states.includes(entry.status));
  const deadline = clock.now() + deadlineMs;
  for (let pause = firstPause; ; pause = Math.min(longestPause, pause * 1.5)) {
    const left = deadline - clock.now();
    const send = await get(id, { ...options, deadlineMs: left < 1 ? deadlineMs : left });
    if (await isReached(send)) return send;
    const { status } = send;
    // Nothing else that a server writes may be in an error.
    const shown = /^[a-z_]{1,30}$/.test(status) ? status : "unknown";
    const message = `The send is ${shown}, and not as \`until\` states.`;
    if (typeof states !== "function" && final.includes(status))
      throw new SvcError({ code: "not_reached", message });
    if (left < 1) throw new TimeoutError({ code: "deadline_exceeded", message });
    // The last request is made when the time is over.
    await clock.sleep(Math.max(0, Math.min(pause, deadline - clock.now())), options.signal);
  }
}
