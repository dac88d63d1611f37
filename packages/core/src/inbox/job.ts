import { parseDelivery, serializeDelivery, type StoredDelivery } from "../delivery.js";
import { WebhookError } from "../errors.js";
import type { DeliveryContext } from "../handler.js";
import type { EnqueueContext } from "../setup/queued-handler.js";

/** A verified delivery in the form that a queue stores as JSON. */
export interface InboxJob {
  readonly v: 1;
  /** The `idempotencyKey` of the event, 32 hex digits. Use it as the job's id, so that the queue refuses copies. */
  readonly key: string;
  /** The type of the event, for lists and metrics, with U+FFFD in place of control characters and lone surrogates. */
  readonly type: string;
  /** `X-SVC-Delivery-Id`, or the delivery id of the scheme. */
  readonly deliveryId: string;
  /** When the delivery arrived, in epoch milliseconds. */
  readonly receivedAt: number;
  /** The headers that a stored delivery keeps. */
  readonly headers: StoredDelivery["headers"];
  /** The exact body as text, so that the queue's dashboard shows the event; see `base64` for the exception. */
  readonly body: string;
  /** True if `body` is base64, because the body is not UTF-8 or contains a NUL, which PostgreSQL cannot store. */
  readonly base64?: true;
  /**
   * The text that `Inbox.around` passed to `store`, usually the trace context of the span that stored the job, so that
   * the run's span can link to it. If your HTTP instrumentation reads `traceparent`, the sender of the request chooses
   * the trace id.
   */
  readonly trace?: string;
}

// Keeps a byte order mark, which is part of the exact body.
const utf8 = /* @__PURE__ */ new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/**
 * The key of the property that holds a job's trace, on the body of its delivery. Registered globally, because an
 * application may load this module both as ESM and as CommonJS.
 */
const traceKey: unique symbol = Symbol.for("svc-webhooks.trace");

interface TracedBody {
  [traceKey]?: unknown;
}

/** Returns the job that stores a delivery. */
export function jobOf(context: EnqueueContext, trace?: string): InboxJob {
  const { idempotencyKey: key, type, deliveryId, receivedAt, delivery } = context;
  const text = textOf(delivery.body);
  return {
    v: 1,
    key,
    // PostgreSQL cannot store NUL or lone surrogates, so they are replaced. The body keeps the exact type.
    type: type.replaceAll(/[\p{Cc}\p{Cs}]/gu, "\ufffd"),
    deliveryId,
    receivedAt,
    headers: delivery.headers,
    ...(text === undefined
      ? { body: (JSON.parse(serializeDelivery(delivery)) as { body: string }).body, base64: true }
      : { body: text }),
    ...(trace !== undefined && { trace }),
  };
}

function textOf(bytes: Uint8Array): string | undefined {
  try {
    const text = utf8.decode(bytes);
    return text.includes("\0") ? undefined : text;
  } catch {
    return undefined;
  }
}

/**
 * Returns the `trace` of the job that a run comes from, or undefined for an inline run. Anyone who can write to the
 * queue can change the trace, so use it only for links.
 *
 * @example
 * ```ts
 * import { createReceiver } from "svc-webhooks";
 * import { defineInbox, traceOf } from "svc-webhooks/inbox";
 *
 * const inbox = defineInbox(async (job) => console.log("stored", job.key, job.trace));
 * inbox.around = (store) => store("the id of a trace");
 *
 * export const receiver = createReceiver({
 *   secret: () => process.env.SVC_WEBHOOK_SECRET ?? "",
 *   on: { "*": inbox((_event, context) => console.log("stored by", traceOf(context))) },
 * });
 * ```
 */
export function traceOf(context: DeliveryContext): string | undefined {
  const { [traceKey]: trace } = context.delivery.body as TracedBody;
  return typeof trace === "string" ? trace : undefined;
}

/**
 * Returns the delivery that a job stores.
 *
 * @throws WebhookError `invalid_job` if `job` does not have the form that an inbox writes
 */
export function deliveryOf(job: unknown): StoredDelivery {
  const { v, key, headers, body, base64, trace } = Object(job) as Partial<InboxJob>;
  try {
    if (v === 1 && typeof key === "string" && typeof body === "string") {
      const isText = base64 === undefined;
      // JSON drops the undefined headers that a queue in memory keeps.
      const stored = parseDelivery(
        JSON.stringify({ method: "POST", headers, body: isText ? "" : body }),
      );
      const bytes = isText ? new TextEncoder().encode(body) : stored.body;
      // The property is not enumerable, so that a comparison of the body with the sent bytes succeeds.
      if (trace !== undefined) Object.defineProperty(bytes, traceKey, { value: trace });
      return { ...stored, body: bytes };
    }
  } catch {
    // A header that is not a string and invalid base64 are reported below, like a wrong field.
  }
  throw new WebhookError(
    "invalid_job",
    "This is not the unchanged data of an inbox job. If another application writes to this queue, give each its own queue.",
  );
}
