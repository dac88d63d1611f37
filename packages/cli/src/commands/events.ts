import type { BulkRedelivery, WebhookEvent } from "@svc-webhooks/client";
import { command } from "../command.js";
import { wholeNumber } from "../lib/number.js";
import { createProgress } from "../lib/terminal/progress.js";
import { serviceOptions, withService } from "../lib/service.js";
import type { Colour } from "../paint.js";
import { fields, table, textOf } from "../lib/terminal/table.js";

const endpoint = {
  type: "string",
  value: "id",
  text: "only the deliveries of this endpoint (we_…)",
} as const;

export const eventsList = command({
  usage: "[--endpoint <id>] [--status <status>] [--limit <number>]",
  details: ["Prints deliveries, newest first. With --json: { data }."],
  examples: ["svc-webhooks events list --status failed"],
  options: {
    endpoint,
    status: { type: "string", value: "status", text: "only those, such as failed or pending" },
    limit: {
      type: "string",
      default: "20",
      value: "number",
      text: "maximum number of deliveries to print",
    },
    ...serviceOptions,
  },
  run: (context) =>
    withService(context, async ({ webhookEvents }) => {
      const { options, show, signal } = context;
      const limit = wholeNumber("--limit", options.limit, 1, 10_000);
      const query = { webhook_endpoint_id: options.endpoint, limit: Math.min(limit, 100) };
      const data = [];
      for await (const event of webhookEvents.list(query, { signal })) {
        if (options.status === undefined || event.status === options.status) data.push(event);
        if (data.length === limit) break;
      }
      const rows = data.map(({ event_id, type, status, attempts, created_at, next_attempt_at }) => [
        event_id,
        type,
        status,
        attempts,
        shortTime(created_at),
        shortTime(next_attempt_at ?? ""),
      ]);
      const names = ["event_id", "type", "status", "attempts", "created_at", "next_attempt_at"];
      show({ data }, rows.length === 0 ? ["There are none."] : table(names, rows, colours));
      return 0;
    }),
});

const colours: Readonly<Record<string, Colour>> = {
  pending: "yellow",
  attempting: "yellow",
  succeeded: "green",
  failed: "red",
};

/** Formats a time such as `22 Nov 11:57:26Z`. Returns any other value unchanged. */
function shortTime(value: unknown): unknown {
  const time = new Date(typeof value === "string" ? value : Number.NaN);
  if (Number.isNaN(time.getTime())) return value;
  const [, day, month, , clock] = time.toUTCString().split(" ");
  return `${day} ${month} ${clock}Z`;
}

export const eventsRedeliver = command({
  usage: "<event_id>",
  args: ["event_id"],
  details: ["Requests another attempt of a failed delivery."],
  examples: ["svc-webhooks events redeliver evt_…"],
  options: { endpoint, ...serviceOptions },
  run: (context) =>
    withService(context, async ({ webhookEvents }) => {
      const { args, options, show, signal } = context;
      const query = { webhook_endpoint_id: options.endpoint, signal };
      const [event_id = ""] = args;
      const event = (await webhookEvents.redeliver(event_id, query)) ?? { event_id };
      const { type, status }: Partial<WebhookEvent> = event;
      show(event, fields({ event_id, type, status }));
      return 0;
    }),
});

export const eventsRedeliverFailed = command({
  usage: "<webhook_endpoint_id> [--dry-run] [--max <number>]",
  args: ["webhook_endpoint_id"],
  details: [
    "Requests another attempt of every failed delivery of an endpoint, newest first. Those that cannot be redelivered are skipped. Exits with 1 if a request has failed.",
  ],
  examples: ["svc-webhooks events redeliver-failed we_… --dry-run"],
  options: {
    "dry-run": { type: "boolean", text: "count them, and change nothing" },
    max: {
      type: "string",
      value: "number",
      text: "maximum number of deliveries to redeliver (all)",
    },
    ...serviceOptions,
  },
  run: (context) =>
    withService(context, async ({ webhookEvents }) => {
      const { args, options, show, signal, note } = context;
      const [webhook_endpoint_id = ""] = args;
      const max = options.max === undefined ? undefined : wholeNumber("--max", options.max, 1, 1e9);
      const all = { webhook_endpoint_id, max, signal };
      const counted = await webhookEvents.redeliverFailed({ ...all, dryRun: true });
      if (options["dry-run"]) {
        const { redelivered: would_redeliver } = counted;
        show({ would_redeliver }, [`${would_redeliver} would be redelivered.`]);
        return 0;
      }
      const progress = createProgress(context);
      const result = await webhookEvents.redeliverFailed({
        ...all,
        onProgress({ event, error, ...counts }) {
          if (error) {
            progress.clear();
            note(`${textOf(event.event_id)}: ${error.message}`);
          }
          const done = counts.redelivered + counts.skipped + counts.failed;
          progress.update(done / Math.max(1, counted.redelivered), countsText(counts));
        },
      });
      progress.clear();
      show(result, [countsText(result)]);
      return result.failed === 0 ? 0 : 1;
    }),
});

const countsText = ({ redelivered, skipped, failed }: BulkRedelivery) =>
  `${redelivered} redelivered, ${skipped} skipped, ${failed} failed`;
