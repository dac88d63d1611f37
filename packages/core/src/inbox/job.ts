import { parseDelivery, serializeDelivery, type StoredDelivery } from "../delivery.js";
import { WebhookError } from "../errors.js";
import { isObject } from "../lib/is-object.js";
import type { EnqueueContext } from "../setup/queued-handler.js";

/** A verified delivery as a queue stores it, as JSON. */
export interface InboxJob {
  readonly v: 1;
  /** The `idempotencyKey` of the event, 32 hex digits. Use it as the id of the job, so that the queue refuses copies. */
  readonly key: string;
  /** The type of the event, for lists and metrics, with U+FFFD in place of control characters and lone surrogates. */
  readonly type: string;
  /** `X-SVC-Delivery-Id`, or the delivery id of the scheme. */
  readonly deliveryId: string;
  /** When the delivery arrived, in epoch milliseconds. */
  readonly receivedAt: number;
  /** The sender's own headers. */
  readonly headers: StoredDelivery["headers"];
  /** The exact body as text, so that the queue's own page shows the event. */
  readonly body: string;
  /** Set if the body is not UTF-8, or contains a NUL, which PostgreSQL does not store: `body` is base64. */
  readonly base64?: true;
}

// Keeps a byte order mark, which is part of the exact body.
const utf8 = /* @__PURE__ */ new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/** Returns the job that stores a delivery. */
export function jobOf(context: EnqueueContext): InboxJob {
  const { idempotencyKey: key, type, deliveryId, receivedAt, delivery } = context;
  const text = textOf(delivery.body);
  return {
    v: 1,
    key,
    // PostgreSQL stores no NUL and no lone surrogate. The body keeps the exact type.
    type: type.replaceAll(/[\p{Cc}\p{Cs}]/gu, "\ufffd"),
    deliveryId,
    receivedAt,
    headers: delivery.headers,
    ...(text === undefined
      ? { body: (JSON.parse(serializeDelivery(delivery)) as { body: string }).body, base64: true }
      : { body: text }),
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
 * Returns the delivery that a job stores.
 *
 * @throws WebhookError `invalid_job` if anything else changed the job, or it was not made by an inbox
 */
export function deliveryOf(job: unknown): StoredDelivery {
  const { v, key, headers, body, base64 } = Object(job) as Partial<InboxJob>;
  try {
    if (v === 1 && typeof key === "string" && isObject(headers) && typeof body === "string") {
      if (base64 !== undefined) return parseDelivery({ method: "POST", headers, body });
      return { method: "POST", headers, body: new TextEncoder().encode(body) };
    }
  } catch {
    // Invalid base64 has the same error as a wrong field.
  }
  throw new WebhookError(
    "invalid_job",
    "This is not the unchanged data of an inbox job. If another application writes to this queue, give each its own queue.",
  );
}
