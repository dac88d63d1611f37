import { invalid, notFound } from "../errors.js";
import { page } from "../service/pages.js";
import { iso } from "../service/resources.js";
import type { World } from "../world.js";
import type { AttemptRecord, DeliveryRecord, SendRecord } from "../state/records.js";
import type { State } from "../state/state.js";
import type { Table } from "../state/table.js";
import { bodyShape, whole } from "./body.js";
import { curlCommand } from "./curl.js";
import { signatureShape } from "./explain.js";
import { findings, type Stray } from "./findings.js";
import { cursorOf, findCalls, mostCalls, type TimelineQuery } from "./search.js";
import {
  attemptSummary,
  callShape,
  clockShape,
  deliveryShape,
  eventShape,
  maybe,
} from "./shapes.js";

/** What the control routes and the page show; both use these functions. */

export interface Counts {
  readonly calls: number;
  readonly deliveries: number;
  readonly succeeded: number;
  readonly failed: number;
  readonly waiting: number;
  readonly sending: number;
  /** Events that went to no endpoint. */
  readonly not_sent: number;
}

export function countsOf({ calls, deliveries, tally }: State): Counts {
  const { pending, attempting, succeeded, failed } = tally.deliveries;
  return {
    calls: calls.size,
    deliveries: deliveries.size,
    succeeded,
    failed,
    waiting: pending,
    sending: attempting,
    not_sent: tally.notSent,
  };
}

export interface Surroundings {
  /** Where the stream of changes is now. */
  readonly position: { readonly epoch: string; readonly seq: number };
  readonly baseUrl: string;
  readonly dropped: number;
  readonly stray: Stray | undefined;
  /** When this process started, and when everything was removed last. */
  readonly startedAt: number;
  readonly resetAt: number | undefined;
  /** In a file: a restart continues. */
  readonly isKept: boolean;
}

export const overview = (
  world: World,
  { position, baseUrl, dropped, stray, startedAt, resetAt, isKept }: Surroundings,
) => ({
  ...position,
  base_url: baseUrl,
  started_at: iso(startedAt),
  ...maybe("reset_at", resetAt === undefined ? undefined : iso(resetAt)),
  is_kept: isKept,
  clock: clockShape(world),
  counts: countsOf(world.state),
  dropped,
  health: findings(world, stray),
});

export function timeline(world: World, query: TimelineQuery) {
  const limit = query.limit ?? mostCalls;
  return page(findCalls(world, query, limit + 1), limit, cursorOf, (call) =>
    callShape(world, call),
  );
}

/** @throws ApiError 404 */
export function find<Item>(table: Table<Item>, id: string, noun: string): Item {
  const item = table.get(id);
  if (item === undefined)
    throw notFound("id", `There is no such ${noun}. It may have been dropped or reset.`);
  return item;
}

export function callDetail(world: World, id: string, full: boolean) {
  const call = find(world.state.calls, id, "call");
  const { headers, body, answer } = call;
  return {
    ...callShape(world, call),
    request: { headers, ...maybe("body", body && bodyShape(body, full)) },
    ...maybe("answer", answer && { headers: answer.headers, body: bodyShape(answer.body, full) }),
  };
}

const encoder = new TextEncoder();

export function sendDetail({ state }: World, id: string, full: boolean) {
  const send = find(state.sends, id, "send");
  const { html, text } = send;
  return {
    id,
    call_id: send.callId,
    email_id: send.emailId,
    message_id: send.messageId,
    status: send.status,
    subject: send.subject,
    from: send.from,
    to: send.to,
    message_class: send.messageClass,
    created_at: iso(send.createdAt),
    history: send.history.map((entry) => ({ ...entry, at: iso(entry.at) })),
    next: send.next.map((entry) => ({ ...entry, at: iso(entry.at) })),
    ...maybe("html", html === undefined ? undefined : { bytes: Buffer.byteLength(html) }),
    ...maybe("text", text === undefined ? undefined : bodyShape(whole(encoder.encode(text)), full)),
  };
}

/** The mail itself. @throws ApiError 404 */
export function mailPart({ state }: World, id: string, part: "html" | "text"): string {
  const send: SendRecord = find(state.sends, id, "send");
  const content = send[part];
  if (content === undefined) throw notFound("id", `This email has no ${part}.`);
  return content;
}

export function eventDetail(world: World, id: string) {
  const event = find(world.state.events, id, "event");
  return {
    ...eventShape(world, event),
    call_id: event.callId,
    ...maybe("send_id", event.sendId),
  };
}

/**
 * The delivery of an id: its own, the delivery id that it has now, or the event id of one delivery.
 *
 * @throws ApiError 404, or 400 if several deliveries share the event id
 */
export function findDelivery({ state }: World, id: string): DeliveryRecord {
  const known = state.deliveries.get(id);
  if (known) return known;
  const all = Array.from(state.deliveries.all());
  const [found, ...others] = all.filter(
    ({ deliveryId, eventId }) => deliveryId === id || eventId === id,
  );
  if (!found) throw notFound("id", "There is no such delivery. It may have been dropped or reset.");
  if (others.length > 0)
    throw invalid("id", "Several deliveries have this event id (A-27). Use a delivery id.");
  return found;
}

export function deliveryDetail(world: World, id: string, full: boolean) {
  const delivery = findDelivery(world, id);
  return {
    ...deliveryShape(world, delivery),
    event_id: delivery.eventId,
    source_event_id: delivery.sourceEventId,
    delivery_id: delivery.deliveryId,
    subscription_id: delivery.subscriptionId,
    type: delivery.type,
    call_id: delivery.callId,
    ...maybe("send_id", world.state.events.get(delivery.sourceEventId)?.sendId),
    created_at: iso(delivery.createdAt),
    body: bodyShape(whole(delivery.body), full),
  };
}

/** @throws ApiError 404 */
export function findAttempt(
  world: World,
  id: string,
  n: string,
): { readonly delivery: DeliveryRecord; readonly attempt: AttemptRecord } {
  const delivery = findDelivery(world, id);
  const attempt = /^[1-9]\d{0,6}$/.test(n) ? delivery.attempts[Number(n) - 1] : undefined;
  if (!attempt) throw notFound("n", `This delivery has ${delivery.attempts.length} attempts.`);
  return { delivery, attempt };
}

export async function attemptDetail(world: World, id: string, n: string, full: boolean) {
  const { delivery, attempt } = findAttempt(world, id, n);
  const { url, headers, answer, error, ms } = attempt;
  const { error: _kind, ...summary } = attemptSummary(attempt);
  return {
    ...summary,
    attempt: attempt.attempt,
    delivery_id: delivery.id,
    request: { url, headers, body: bodyShape(whole(attempt.body ?? delivery.body), full) },
    ...maybe(
      "answer",
      answer && {
        status: answer.status,
        headers: answer.headers,
        body: bodyShape(answer.body, full),
        ms,
      },
    ),
    ...maybe("error", error),
    signature: await signatureShape(world, delivery, attempt),
    assumptions: assumptionsBehind(attempt),
  };
}

/** The assumptions that formed an attempt. */
export function assumptionsBehind({ trigger, error }: AttemptRecord): readonly string[] {
  const ids = ["A-07", "A-10", "A-19", "A-20", "A-25", "A-26", "A-27"];
  if (trigger === "retry") ids.push("A-09");
  if (trigger === "redeliver") ids.push("A-17", "A-18");
  if (error?.kind === "url_refused") ids.push("A-21");
  return ids.toSorted();
}

export function attemptCurl(world: World, id: string, n: string): string {
  const { delivery, attempt } = findAttempt(world, id, n);
  return curlCommand({ ...attempt, body: attempt.body ?? delivery.body });
}
