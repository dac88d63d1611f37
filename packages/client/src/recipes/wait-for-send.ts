import type { ClientClock } from "../clock.js";
import { SvcError, TimeoutError } from "../errors.js";
import type { RequestOptions } from "../options.js";
import type { WaitOptions } from "../recipes.js";
import type { SendState, SendStatus } from "../resources.js";

const final: readonly SendState[] = ["delivered", "bounced", "failed"];

/**
 * The first pause between two requests, in milliseconds. Each pause is 1.5 times as long as the previous one, up to
 * `longestPause`.
 */
const firstPause = 250;
const longestPause = 5_000;

/**
 * Polls the status of a send until it matches `until`.
 *
 * @throws TimeoutError `deadline_exceeded` after `deadlineMs`, SvcError `not_reached` if the send has another final
 *   status and `until` is not a function, and the errors of `sends.get` and `until`
 */
export async function waitForSend(
  get: (id: string, options: RequestOptions) => Promise<SendStatus>,
  clock: ClientClock,
  id: string,
  { until = final, deadlineMs = 60_000, ...options }: WaitOptions = {},
): Promise<SendStatus> {
  const isReached =
    typeof until === "function"
      ? until
      : ({ status, history }: SendStatus) =>
          // Accepts a history of any form, because the interface document does not define it.
          [{ status }, history]
            .flat()
            .some((entry) => [until].flat().includes(entry?.status as SendState));
  const deadline = clock.now() + deadlineMs;
  for (let pause = firstPause; ; pause = Math.min(longestPause, pause * 1.5)) {
    const left = deadline - clock.now();
    const send = await get(id, { ...options, deadlineMs: left < 1 ? deadlineMs : left });
    if (await isReached(send)) return send;
    const { status } = send;
    // Shows only a plain word, because other text could contain a secret.
    const shown = /^"[a-z_]{1,30}"$/.test(JSON.stringify(status)) ? status : "unknown";
    const message = `The status is ${shown}: \`until\` was not reached.`;
    if (typeof until !== "function" && final.includes(status))
      throw new SvcError({ code: "not_reached", message });
    if (left < 1) throw new TimeoutError({ code: "deadline_exceeded", message });
    // Sleeps no longer than until the deadline, when the last request is made.
    await clock.sleep(Math.max(0, Math.min(pause, deadline - clock.now())), options.signal);
  }
}
