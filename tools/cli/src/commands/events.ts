import type { BulkRedelivery, Client, WebhookEvent } from "@svc-webhooks/client";
import { command } from "../command.js";
import { Failure } from "../errors.js";
import { attemptsFromSandbox, reasonFromSandbox } from "../lib/control.js";
import { wholeNumber } from "../lib/number.js";
import { createProgress } from "../lib/terminal/progress.js";
import { endpointOption, serviceOptions, withService } from "../lib/service.js";
import { fields, table, textOf } from "../lib/terminal/table.js";
import { shortTime } from "../lib/terminal/time.js";

export const eventsGet = command({
  usage: "<event_id>",
  args: ["event_id"],
  details: [
    "Prints a delivery. The attempts and the responses are shown only with the sandbox, because the service's interface does not return them. If an attempt got no response, the sandbox's reason is shown too. With --json, prints the delivery, plus { results } from the sandbox.",
  ],
  examples: ["svc-webhooks service events get evt_…"],
  options: { endpoint: endpointOption, ...serviceOptions },
  run: (context) =>
    withService(context, async (client) => {
      const { args, options, show, stdout, signal } = context;
      const [event_id = ""] = args;
      const event = await find(client, event_id, options.endpoint, signal);
      const attempts = await attemptsFromSandbox(client, event.delivery_id, signal);
      if (!attempts) {
        show(event, fields({ ...event }));
        return 0;
      }
      const results = [];
      for (const { isTampered, ...attempt } of attempts) {
        const reason =
          attempt.status === undefined
            ? await reasonFromSandbox(client, event.delivery_id, attempt, signal)
            : undefined;
        results.push({
          ...attempt,
          ...(isTampered && { tampered: true }),
          ...(reason !== undefined && { reason }),
        });
      }
      const rows = results.map(({ n, started_at, result, ms }) => [
        n,
        shortTime(started_at),
        result,
        ms,
      ]);
      const reasons = new Map(results.map(({ reason = "", n }) => [reason, n]));
      reasons.delete("");
      show({ ...event, results }, [
        ...fields({ ...event }),
        "",
        ...table(["attempt", "started_at", "result", "ms"], rows, stdout),
        ...Array.from(reasons, ([reason, n]) => `Attempt ${textOf(n)}: ${reason}`),
      ]);
      return 0;
    }),
});

/** Resolves to the newest delivery of an event, or rejects with the Failure `not_found`. */
async function find(
  { webhookEvents }: Client,
  event_id: string,
  webhook_endpoint_id: string | undefined,
  signal: AbortSignal,
): Promise<WebhookEvent> {
  const deliveries = webhookEvents.list({ webhook_endpoint_id, limit: 100 }, { signal });
  for await (const event of deliveries) if (event.event_id === event_id) return event;
  throw new Failure(
    "not_found",
    `No delivery has the event_id ${event_id}.`,
    "To see the newest deliveries, run svc-webhooks service events list.",
  );
}

export const eventsRedeliver = command({
  usage: "<event_id>",
  args: ["event_id"],
  details: ["Requests another attempt for a failed delivery."],
  examples: ["svc-webhooks service events redeliver evt_…"],
  options: { endpoint: endpointOption, ...serviceOptions },
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
  usage: "<webhook_endpoint_id> [--dry-run] [--max <n>]",
  args: ["webhook_endpoint_id"],
  details: [
    "Requests another attempt for the failed deliveries to an endpoint, newest first. Deliveries that cannot be redelivered are skipped. Exits with 1 if any other request fails.",
  ],
  examples: ["svc-webhooks service events redeliver-failed we_… --dry-run"],
  options: {
    "dry-run": { type: "boolean", text: "only count the deliveries, without redelivering them" },
    max: {
      type: "string",
      value: "number",
      text: "maximum number of deliveries to redeliver (default: all)",
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
