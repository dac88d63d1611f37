import type { Client, WebhookEvent } from "@svc-webhooks/client";
import { setTimeout as pause } from "node:timers/promises";
import { command, type Context } from "../command.js";
import { attemptsFromSandbox, followDeliveries, type FollowDeliveries } from "../lib/control.js";
import { wholeNumber } from "../lib/number.js";
import { endpointOption, serviceOptions, withService } from "../lib/service.js";
import { shortTime } from "../lib/terminal/time.js";
import { tableInParts } from "../lib/terminal/table.js";
import type { Color, Output } from "../paint.js";

/** The maximum page size of the service's list. */
const longestPage = 100;

/** The polling interval for `--follow`, in milliseconds. */
const followMs = 2_000;

export const eventsList = command({
  usage: "[--status <status>] [--limit <n>] [--follow]",
  details: [
    "Prints deliveries, newest first. The last response is shown only with the sandbox, because the service's interface does not return it. If there was none, service events get prints the reason. With --json, prints { data }.",
    "With --follow, the command keeps running until Ctrl-C, and checks for changes every 2 seconds. It prints new deliveries, and those of the newest 100 that have changed, oldest first.",
  ],
  examples: [
    "svc-webhooks service events list --status failed",
    "svc-webhooks service events list --follow",
  ],
  options: {
    endpoint: endpointOption,
    status: {
      type: "string",
      value: "status",
      values: ["pending", "attempting", "succeeded", "failed"],
      text: "only deliveries with this status: pending, attempting, succeeded or failed",
    },
    limit: {
      type: "string",
      default: "20",
      value: "number",
      text: "maximum number of deliveries to print",
    },
    follow: { type: "boolean", text: "keep printing deliveries as they change" },
    ...serviceOptions,
  },
  run: (context) =>
    withService(context, async (client) => {
      const { options, show, stdout, signal } = context;
      const limit = wholeNumber("--limit", options.limit, 1, 10_000);
      const print = createPrint(show, stdout);
      const newest = followDeliveries(client, options.endpoint, signal);
      const before = options.follow ? await newestOf(newest, new Map()) : [];
      const listed = await withLastResponses(
        client,
        await read(client, options, limit, signal),
        signal,
      );
      print(listed);
      if (!options.follow) return 0;
      let known = statesOf([...before, ...listed]);
      for (;;) {
        await pause(followMs, undefined, { signal });
        const now = await newestOf(newest, known);
        const news = now.filter(
          (delivery) =>
            isWanted(delivery, options.status) &&
            known.get(delivery.delivery_id) !== stateOf(delivery),
        );
        known = statesOf(now);
        if (news.length > 0) print(news.toReversed());
      }
    }),
});

interface Wanted {
  readonly endpoint: string | undefined;
  readonly status: string | undefined;
}

/** Resolves to the newest deliveries that match the filters, at most `most`. */
async function read(
  { webhookEvents }: Client,
  { endpoint: webhook_endpoint_id, status }: Wanted,
  most: number,
  signal: AbortSignal,
): Promise<readonly WebhookEvent[]> {
  const query = { webhook_endpoint_id, limit: Math.min(most, longestPage) };
  const data: WebhookEvent[] = [];
  for await (const event of webhookEvents.list(query, { signal })) {
    if (isWanted(event, status)) data.push(event);
    if (data.length === most) break;
  }
  return data;
}

const isWanted = (event: WebhookEvent, status: string | undefined) =>
  status === undefined || event.status === status;

/**
 * Resolves to the newest 100 deliveries. Unless `known` is empty, adds older deliveries until one of these is in
 * `known`.
 */
async function newestOf(
  deliveries: FollowDeliveries,
  known: ReadonlyMap<string, string>,
): Promise<readonly Listed[]> {
  const data: Listed[] = [];
  for await (const { attemptsMade, ...event } of deliveries()) {
    const isLast = known.size === 0 || known.has(event.delivery_id);
    if (data.length >= longestPage && isLast) break;
    data.push(
      attemptsMade ? { ...event, last_response: attemptsMade.at(-1)?.result ?? "" } : event,
    );
  }
  return data;
}

const stateOf = ({ status, attempts }: WebhookEvent) => `${String(status)} ${String(attempts)}`;

const statesOf = (deliveries: readonly WebhookEvent[]) =>
  new Map(deliveries.map((delivery) => [delivery.delivery_id, stateOf(delivery)]));

/** A delivery, with the result of its last attempt if the service is a sandbox. */
type Listed = WebhookEvent & { readonly last_response?: string };

/** If the service is a sandbox, adds the result of the last attempt to each of the first 100 deliveries. */
async function withLastResponses(
  client: Client,
  deliveries: readonly WebhookEvent[],
  signal: AbortSignal,
): Promise<readonly Listed[]> {
  const data: Listed[] = [...deliveries];
  for (const [index, event] of deliveries.slice(0, longestPage).entries()) {
    const attempts = await attemptsFromSandbox(client, event.delivery_id, signal);
    if (!attempts) break;
    data[index] = { ...event, last_response: attempts.at(-1)?.result ?? "" };
  }
  return data;
}

/** Returns a function that prints deliveries as parts of one table. */
function createPrint(show: Context["show"], output: Output): (data: readonly Listed[]) => void {
  let linesOf: ReturnType<typeof tableInParts> | undefined;
  return (data) => {
    if (data.length === 0) {
      show({ data }, ["No deliveries found."]);
      return;
    }
    const isShown = data.some(({ last_response }) => last_response !== undefined);
    const all = columns.filter((name) => isShown || name !== "last_response");
    linesOf ??= tableInParts(all, output, { colors, first: mostImportant });
    const rows = data.map((event) => {
      const shown: Readonly<Record<string, unknown>> = {
        ...event,
        next_attempt_at: shortTime(event.next_attempt_at ?? ""),
        created_at: shortTime(event.created_at),
      };
      return all.map((name) => shown[name]);
    });
    show({ data }, linesOf(rows));
  };
}

const columns = [
  "event_id",
  "type",
  "status",
  "attempts",
  "last_response",
  "next_attempt_at",
  "webhook_endpoint_id",
  "created_at",
];

const mostImportant = ["event_id", "status", "last_response", "type", "attempts"];

const colors: Readonly<Record<string, Color>> = {
  pending: "yellow",
  attempting: "yellow",
  succeeded: "green",
  failed: "red",
};
