import { ApiError, ConnectionError, InvalidResponseError, type SvcError } from "../errors.js";
import { pathId } from "../http/checks.js";
import { check, checkNames, type RedeliverOptions, type RequestOptions } from "../options.js";
import type { List } from "../pages.js";
import type { BulkRedelivery, BulkRedeliveryOptions } from "../recipes.js";
import type { WebhookEvent, WebhookEventQuery } from "../resources.js";

/** The operations of the client that {@link redeliverFailed} calls. */
interface Deliveries {
  readonly list: (query: WebhookEventQuery, options: RequestOptions) => List<WebhookEvent>;
  readonly redeliver: (id: string, options: RedeliverOptions) => Promise<unknown>;
}

/** The number of deliveries that are redelivered at the same time. */
const lanes = 4;

/**
 * Redelivers the failed deliveries of an endpoint, newest first and at most `max` of them. Keeps one page in memory at
 * a time. Counts a failed request and continues, unless its error is one of those below.
 *
 * @throws ClientConfigError `invalid_option`; InvalidRequestError if `webhook_endpoint_id` is not an id;
 *   AuthenticationError, RateLimitError, AbortedError, an error with the status 403 or the code `redirected`; and the
 *   errors of `webhookEvents.list` and `onProgress`
 */
export async function redeliverFailed(
  webhookEvents: Deliveries,
  options: BulkRedeliveryOptions,
): Promise<BulkRedelivery> {
  checkNames(options, ["webhook_endpoint_id", "dryRun", "max", "onProgress", "signal"]);
  const { webhook_endpoint_id, dryRun, max = Infinity, onProgress, ...requestOptions } = options;
  // Checks the endpoint first, because without one the list would contain the deliveries of all endpoints.
  pathId("webhook_endpoint_id", webhook_endpoint_id);
  const counts = { redelivered: 0, skipped: 0, failed: 0 };
  check(max >= 0, "`max` must be 0 or greater.");
  let left = max;
  let isEnded = false;

  const redeliver = async (event: WebhookEvent): Promise<SvcError | undefined> => {
    try {
      if (!dryRun)
        await webhookEvents.redeliver(event.event_id, { ...requestOptions, webhook_endpoint_id });
      counts.redelivered += 1;
      return undefined;
    } catch (error) {
      if (!isOfOneDelivery(error)) throw error;
      counts[error.status === 409 ? "skipped" : "failed"] += 1;
      return error;
    }
  };

  const query = { webhook_endpoint_id, limit: 100 };
  for await (const { data } of webhookEvents.list(query, requestOptions).pages()) {
    const events = data.filter(({ status }) => status === "failed").slice(0, left);
    left -= events.length;
    const work = async () => {
      try {
        for (let event = events.shift(); event; event = events.shift()) {
          const error = await redeliver(event);
          if (isEnded) return;
          await onProgress?.({ ...counts, event, ...(error && { error }) });
        }
      } catch (error) {
        // Makes the concurrent calls of `work` stop too.
        isEnded = true;
        events.length = 0;
        throw error;
      }
    };
    await Promise.all(Array.from({ length: lanes }, work));
    if (left <= 0) break;
  }
  return counts;
}

/** Returns whether an error concerns only one delivery, so that other deliveries may succeed. */
const isOfOneDelivery = (error: unknown): error is SvcError =>
  error instanceof ConnectionError ||
  (error instanceof InvalidResponseError && error.code !== "redirected") ||
  (error instanceof ApiError && ![401, 403, 429].includes(error.status ?? 0));
