import type { Client, WebhookEvent } from "@svc-webhooks/client";
import { setTimeout as pause } from "node:timers/promises";
import { command } from "../command.js";
import { attemptsFromSandbox } from "../lib/control.js";
import { wholeNumber } from "../lib/number.js";
import { endpointOption, serviceOptions, withService } from "../lib/service.js";
import { shortTime } from "../lib/terminal/time.js";
import { table } from "../lib/terminal/table.js";
import type { Colour, Line, Output } from "../paint.js";

/** The maximum page size of the service's list. */
const longestPage = 100;

/** The polling interval for `--follow`, in milliseconds. */
const followMs = 2_000;

export const eventsList = command({
  usage: "[--endpoint <id>] [--status <status>] [--limit <number>] [--follow]",
  details: [
    "Prints deliveries, newest first. The last response comes from the sandbox, because the service's interface does not show it. With --json: { data }.",
    "With --follow, the command looks again every 2 seconds until Ctrl-C, and prints the deliveries among the newest 100 that have changed.",
  ],
  examples: ["svc-webhooks events list --status failed", "svc-webhooks events list --follow"],
  options: {
    endpoint: endpointOption,
    status: {
      type: "string",
      value: "status",
      values: ["pending", "attempting", "succeeded", "failed"],
      text: "only those that are pending, attempting, succeeded or failed",
    },
    limit: {
      type: "string",
      default: "20",
      value: "number",
      text: "maximum number of deliveries to print",
    },
    follow: { type: "boolean", text: "keep printing the deliveries that change" },
    ...serviceOptions,
  },
  run: (context) =>
    withService(context, async (client) => {
      const { options, show, stdout, signal } = context;
      const limit = wholeNumber("--limit", options.limit, 1, 10_000);
      const newest = (most: number) => read(client, options, most, signal);
      const print = async (deliveries: readonly WebhookEvent[]) => {
        const data = await withLastResponses(client, deliveries, signal);
        show({ data }, linesOf(data, stdout));
      };
      const listed = await newest(limit);
      await print(listed);
      if (!options.follow) return 0;
      let known = statesOf(listed);
      for (;;) {
        await pause(followMs, undefined, { signal });
        const now = await newest(longestPage);
        const changed = now.filter((one) => known.get(one.delivery_id) !== stateOf(one));
        known = statesOf(now);
        if (changed.length > 0) await print(changed);
      }
    }),
});

interface Wanted {
  readonly endpoint: string | undefined;
  readonly status: string | undefined;
}

/** Returns the newest deliveries that match the filters, at most `most`. */
async function read(
  { webhookEvents }: Client,
  { endpoint: webhook_endpoint_id, status }: Wanted,
  most: number,
  signal: AbortSignal,
): Promise<readonly WebhookEvent[]> {
  const query = { webhook_endpoint_id, limit: Math.min(most, longestPage) };
  const data: WebhookEvent[] = [];
  for await (const event of webhookEvents.list(query, { signal })) {
    if (status === undefined || event.status === status) data.push(event);
    if (data.length === most) break;
  }
  return data;
}

const stateOf = ({ status, attempts }: WebhookEvent) => `${String(status)} ${String(attempts)}`;

const statesOf = (deliveries: readonly WebhookEvent[]) =>
  new Map(deliveries.map((one) => [one.delivery_id, stateOf(one)]));

/** A delivery with the result of its last attempt, if the service is a sandbox. */
type Listed = WebhookEvent & { readonly last_response?: string };

/** Adds the result of the last attempt to each of the first 100 deliveries. */
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

/** Formats deliveries, with the most important columns first. */
function linesOf(data: readonly Listed[], output: Output): readonly Line[] {
  if (data.length === 0) return ["No deliveries found."];
  const isShown = data.some(({ last_response }) => last_response !== undefined);
  const rows = data.map((event) => [
    event.event_id,
    event.type,
    event.status,
    event.attempts,
    ...(isShown ? [event.last_response ?? ""] : []),
    shortTime(event.next_attempt_at ?? ""),
    event.webhook_endpoint_id,
    shortTime(event.created_at),
  ]);
  const names = ["event_id", "type", "status", "attempts", ...(isShown ? ["last_response"] : [])];
  const allNames = [...names, "next_attempt_at", "webhook_endpoint_id", "created_at"];
  return table(allNames, rows, output, colours);
}

const colours: Readonly<Record<string, Colour>> = {
  pending: "yellow",
  attempting: "yellow",
  succeeded: "green",
  failed: "red",
};
