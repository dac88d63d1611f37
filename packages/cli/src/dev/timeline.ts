import type { Client, WebhookEvent } from "@svc-webhooks/client";
import type { Context } from "../command.js";
import { addLogLines, attemptsFromSandbox, type Attempt } from "../lib/control.js";
import { isHandled, refusalOf } from "../lib/outcome.js";
import { excerpt } from "../lib/terminal/text.js";
import { textOf } from "../lib/terminal/table.js";
import { paint } from "../paint.js";
import type { LogLines } from "./log-lines.js";

/** The number of deliveries to poll: the newest ones of the endpoint. */
const newest = 100;

/**
 * Returns a function that prints the attempts that the sandbox has made since the last call, the oldest first. It
 * also passes the app's lines about a delivery on to the sandbox, which shows them next to the last attempt.
 *
 * @param endpoint the id of the endpoint
 */
export function createTimeline(
  { show, json }: Pick<Context, "show" | "json">,
  endpoint: string,
  log: LogLines,
): (client: Client, signal: AbortSignal) => Promise<void> {
  /** The state of each delivery, how many of its attempts were printed, and the number of the last one. */
  const known = new Map<string, { state: string; printed: number; n: unknown }>();
  /** Results whose reasons have already been printed. */
  const explained = new Set<string>();

  return async (client, signal) => {
    // A line that is written from here on may belong to an attempt that the list does not have.
    const position = log.position();
    for (const event of (await newestOf(client, endpoint, signal)).toReversed()) {
      const { delivery_id } = event;
      const state = `${event.status} ${event.attempts}`;
      const last = known.get(delivery_id) ?? { state: "", printed: 0, n: undefined };
      if (last.state !== state) {
        const attempts = (await attemptsFromSandbox(client, delivery_id, signal)) ?? [];
        for (const attempt of attempts.slice(last.printed)) print(event, attempt);
        last.printed = attempts.length;
        last.n = attempts.at(-1)?.n;
        last.state = state;
        known.set(delivery_id, last);
      }
      // The lines of an attempt that is being made wait until the sandbox has it.
      if (last.printed === 0 || event.status === "attempting") continue;
      const lines = log.take(delivery_id, position);
      if (lines.length > 0) await addLogLines(client, delivery_id, last.n, lines, signal);
    }
  };

  function print({ delivery_id, type }: WebhookEvent, attempt: Attempt): void {
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
    const reasons = explained.has(result) ? [] : reasonsOf(status, code, result);
    explained.add(result);
    show({}, [first, ...reasons.map((text) => `  ${text}`)]);
  }
}

async function newestOf({ webhookEvents }: Client, endpoint: string, signal: AbortSignal) {
  const data: WebhookEvent[] = [];
  const query = { webhook_endpoint_id: endpoint, limit: newest };
  for await (const event of webhookEvents.list(query, { signal })) {
    data.push(event);
    if (data.length === newest) break;
  }
  return data;
}

/** Returns the reasons why an attempt did not succeed, as far as they can be determined. */
function reasonsOf(
  status: Attempt["status"],
  code: Attempt["code"],
  result: string,
): readonly string[] {
  if (status === undefined) return [`Your app did not respond: ${result}.`];
  if (status === 404 && code === undefined)
    return [
      "Your app has no route for POST requests at this path. Mount the receiver there, or pass its URL with --to.",
    ];
  if (code === "signature_mismatch")
    return [
      "Read the secret from SVC_WEBHOOK_SECRET, which this command sets for your app.",
    ].concat(refusalOf(status, code));
  return status >= 300 || !isHandled(code) ? refusalOf(status, code) : [];
}
