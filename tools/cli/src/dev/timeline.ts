import type { Client, WebhookEvent } from "@svc-webhooks/client";
import type { Context } from "../command.js";
import {
  addLogLines,
  reasonFromSandbox,
  type Attempt,
  type Followed,
  type FollowDeliveries,
} from "../lib/control.js";
import { isHandled } from "../lib/outcome.js";
import { excerpt } from "../lib/terminal/text.js";
import { textOf } from "../lib/terminal/table.js";
import { paint } from "../paint.js";
import type { LogLines } from "./log-lines.js";
import { reasonsOf } from "./reasons.js";

/** The number of the endpoint's newest deliveries that each call reads again, even if nothing is pending. */
const newest = 100;

/**
 * Returns a function that prints the attempts that the sandbox has made since the previous call of the function, those
 * of older deliveries first. It also sends the lines of the app's output about a delivery to the sandbox, which shows
 * them next to the last attempt.
 *
 * @param deliveries lists the deliveries of the endpoint
 */
export function createTimeline(
  { show, json }: Pick<Context, "show" | "json">,
  deliveries: FollowDeliveries,
  log: LogLines,
): (client: Client, signal: AbortSignal) => Promise<void> {
  /**
   * The last known facts of each delivery: its status, its status and number of attempts as one text (`state`), the
   * number of attempts that were printed, and the number of the last attempt (`n`).
   */
  const known = new Map<string, { status: string; state: string; printed: number; n: unknown }>();
  /** Results whose reasons have already been printed. */
  const explained = new Set<string>();

  return async (client, signal) => {
    // Ignores lines that are written from now on, because they may belong to an attempt that the list does not contain.
    const position = log.position();
    for (const event of (await unfinished()).toReversed()) {
      const { delivery_id } = event;
      const state = `${event.status} ${event.attempts}`;
      const last = known.get(delivery_id) ?? { status: "", state: "", printed: 0, n: undefined };
      if (last.state !== state) {
        const { attemptsMade: attempts = [] } = event;
        for (const attempt of attempts.slice(last.printed)) {
          await print(event, attempt, () =>
            reasonFromSandbox(client, delivery_id, attempt, signal),
          );
        }
        last.printed = attempts.length;
        last.n = attempts.at(-1)?.n;
        last.status = String(event.status);
        last.state = state;
        known.set(delivery_id, last);
      }
      // Keeps the lines of an attempt in progress until the sandbox lists the attempt.
      if (last.printed === 0 || event.status === "attempting") continue;
      const lines = log.take(delivery_id, position);
      if (lines.length > 0) await addLogLines(client, delivery_id, last.n, lines, signal);
    }
  };

  /** Resolves to the newest 100 deliveries, and to older ones until all new and unfinished ones have been read. */
  async function unfinished(): Promise<readonly Followed[]> {
    const pending = new Set<string>();
    for (const [id, { status }] of known) if (!/succeeded|failed/.test(status)) pending.add(id);
    const data: Followed[] = [];
    let isNew = true;
    for await (const event of deliveries()) {
      if (data.length >= newest && !isNew && pending.size === 0) return data;
      isNew = !known.has(event.delivery_id);
      pending.delete(event.delivery_id);
      data.push(event);
    }
    // Forgets deliveries that the sandbox no longer lists.
    for (const id of pending) known.delete(id);
    return data;
  }

  async function print(
    { delivery_id, type }: WebhookEvent,
    attempt: Attempt,
    reasonOf: () => Promise<string | undefined>,
  ): Promise<void> {
    const { started_at, n, result, status, code, ms } = attempt;
    if (json) {
      show({ at: started_at, delivery_id, type, attempt: n, result, ms }, []);
      return;
    }
    const isRefused = status === undefined || status >= 300;
    const line = [
      paint("dim", new Date(textOf(started_at)).toTimeString().slice(0, 8)),
      paint(isRefused ? "red" : isHandled(code) ? "green" : "yellow", result),
      excerpt(type, 60),
      excerpt(delivery_id, 80),
      `attempt ${textOf(n)}`,
      `${textOf(ms)} ms`,
    ];
    const first = line.flatMap((part, index) => (index === 0 ? [part] : ["  ", part]));
    const isExplained = explained.has(result);
    explained.add(result);
    const reason = isExplained || status !== undefined ? undefined : await reasonOf();
    const reasons = isExplained
      ? []
      : reasonsOf(status, code, reason ?? `${result}.`, {
          variable: "SVC_WEBHOOK_SECRET",
          page: ", and the response on the sandbox's page",
        });
    show({}, [first, ...reasons.map((text) => `  ${text}`)]);
  }
}
