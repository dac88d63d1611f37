import { attemptRange } from "../lib/attempt-range.js";
import { invalid, notFound } from "../errors.js";
import { page } from "../service/pages.js";
import { iso, isoTimes } from "../lib/iso.js";
import type { World } from "../world.js";
import { type AttemptRecord, type DeliveryRecord, type SendRecord } from "../state/records.js";
import type { State } from "../state/state.js";
import type { Table } from "../state/table.js";
import { assumptionsBehind, assumptionsOfCall } from "./assumptions.js";
import { bodyShape, whole } from "./body.js";
import { curlCommand } from "./curl.js";
import { signatureShape } from "./signature.js";
import { findings, type Stray } from "./findings/findings.js";
import { cursorOf, findCalls, mostCalls, type TimelineQuery } from "./search.js";
import {
  attemptSummary,
  callShape,
  clockShape,
  deliveryShape,
  eventShape,
  maybe,
} from "./shapes.js";

/* The data for the control routes and the page, which use the same functions. */

export function countsOf({ calls, deliveries, tally }: State) {
  const { pending, attempting, succeeded, failed } = tally.deliveries;
  return {
    calls: calls.size,
    deliveries: deliveries.size,
    succeeded,
    failed,
    waiting: pending,
    sending: attempting,
    /** The number of events that went to no endpoint. */
    not_sent: tally.notSent,
  } as const;
}

export type Counts = ReturnType<typeof countsOf>;

export interface Surroundings {
  /** The current position in the change stream. */
  readonly position: { readonly epoch: string; readonly seq: number };
  readonly baseUrl: string;
  readonly dropped: number;
  readonly stray: Stray | undefined;
  /** The time on the sandbox's clock when the sandbox was started. */
  readonly startedAt: number;
  /** The time on the sandbox's clock when the sandbox was last reset, if it was. */
  readonly resetAt: number | undefined;
  /** The time to which the sandbox was last rewound. Undefined if it was not rewound since the last reset. */
  readonly rewoundAt: number | undefined;
  /** The running recording of a scenario, or else the last finished one, if there is one. */
  readonly recording: RecordingShape | undefined;
  /** Whether the state is kept in a file, so that it survives a restart. */
  readonly isKept: boolean;
}

/** A recording of a scenario, as the control routes show it. */
export interface RecordingShape {
  readonly state: "recording" | "finished";
  readonly steps: number;
  /** The name of a finished scenario. */
  readonly name?: string | undefined;
  /** The number of requests, actions and other steps that could not be recorded. */
  readonly left_out: number;
}

export const overview = (
  world: World,
  {
    position,
    baseUrl,
    dropped,
    stray,
    startedAt,
    resetAt,
    rewoundAt,
    recording,
    isKept,
  }: Surroundings,
) => ({
  ...position,
  base_url: baseUrl,
  started_at: iso(startedAt),
  ...maybe("reset_at", resetAt === undefined ? undefined : iso(resetAt)),
  ...maybe("rewound_at", rewoundAt === undefined ? undefined : iso(rewoundAt)),
  ...maybe("recording", recording),
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

/** Returns the item with an id. @throws ApiError 404 if there is none */
export function find<Item>(table: Table<Item>, id: string | undefined, noun: string): Item {
  const item = table.get(id ?? "");
  if (item === undefined) throw missing(noun);
  return item;
}

const missing = (noun: string) =>
  notFound(
    "id",
    `There is no such ${noun}. It may have been dropped, or removed by a reset or a rewind.`,
  );

export function callDetail(world: World, id: string, full: boolean) {
  const call = find(world.state.calls, id, "call");
  const { headers, body, response } = call;
  return {
    ...callShape(world, call),
    request: { headers, ...maybe("body", body && bodyShape(body, full)) },
    ...maybe(
      "response",
      response && { headers: response.headers, body: bodyShape(response.body, full) },
    ),
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
    history: isoTimes(send.history),
    next: isoTimes(send.next),
    ...maybe("html", html === undefined ? undefined : { bytes: Buffer.byteLength(html) }),
    ...maybe("text", text === undefined ? undefined : bodyShape(whole(encoder.encode(text)), full)),
  };
}

/** Returns the HTML or text part of an email. @throws ApiError 404 if there is no such email or part */
export function mailPart({ state }: World, id: string, part: "html" | "text"): string {
  const send: SendRecord = find(state.sends, id, "send");
  const content = send[part];
  if (content === undefined) throw notFound("id", `This email has no ${part}.`);
  return content;
}

/** Returns the events that a send raised and that are still stored. */
export const eventsOfSend = ({ state }: World, id: string, callId: string) =>
  (state.calls.get(callId)?.events ?? [])
    .flatMap((event) => state.events.get(event) ?? [])
    .filter(({ sendId }) => sendId === id);

/** Returns the call and the send that caused an item, if they are still stored. */
export const causesOf = ({ state }: World, callId: string, sendId: string | undefined) => ({
  call: state.calls.get(callId),
  send: sendId === undefined ? undefined : state.sends.get(sendId),
});

/** Returns the newest delivery that has failed (`hasFailed`), or else the newest delivery, if there is one. */
export function noteworthyDelivery({ state }: World): DeliveryRecord | undefined {
  const deliveries = state.deliveries.list();
  return deliveries.findLast(hasFailed) ?? deliveries.at(-1);
}

/** Whether the last attempt failed and the delivery's state is not `succeeded`. */
export const hasFailed = ({ attempts, state }: DeliveryRecord): boolean =>
  attempts.at(-1)?.ok === false && state !== "succeeded";

/**
 * Returns a title for a call, a send or a delivery and, for a delivery, the result of its last attempt. Returns
 * undefined for any other item.
 */
export function titleOf({ state }: World, id: string) {
  const delivery = state.deliveries.get(id);
  if (delivery) {
    const last = delivery.attempts.at(-1);
    return { title: delivery.type, result: last && attemptSummary(last) };
  }
  const call = state.calls.get(id);
  const title = state.sends.get(id)?.subject ?? (call && `${call.method} ${call.path}`);
  return title === undefined ? undefined : { title, result: undefined };
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
 * Finds a delivery by its own id, by its current delivery id, or by an event id that only it has.
 *
 * @throws ApiError 404, or 400 if several deliveries share the event id
 */
export function findDelivery(world: World, id: string | undefined): DeliveryRecord {
  const [delivery, ...others] = deliveriesNamed(world, id ?? "");
  if (!delivery) throw missing("delivery");
  if (others.length > 0)
    throw invalid("id", "Several deliveries have this event id (A-27). Use a delivery id.");
  return delivery;
}

function deliveriesNamed({ state }: World, id: string): readonly DeliveryRecord[] {
  const known = state.deliveries.get(id);
  if (known) return [known];
  return Array.from(state.deliveries.all()).filter(
    ({ deliveryId, eventId }) => deliveryId === id || eventId === id,
  );
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

/**
 * Finds an attempt by its delivery and its number.
 * @throws ApiError as `findDelivery` does, and 404 if the delivery has no such attempt
 */
export function findAttempt(
  world: World,
  id: string | undefined,
  n: string | undefined,
): { readonly delivery: DeliveryRecord; readonly attempt: AttemptRecord } {
  const delivery = findDelivery(world, id);
  const attempt = delivery.attempts.find((candidate) => String(candidate.n) === n);
  if (!attempt) {
    const { first, last } = attemptRange(delivery.attempts);
    const has = last === 0 ? "no attempts" : `attempts ${first} to ${last}`;
    throw notFound("n", `This delivery has ${has}.`);
  }
  return { delivery, attempt };
}

export async function attemptDetail(world: World, id: string, n: string, full: boolean) {
  const { delivery, attempt } = findAttempt(world, id, n);
  const { url, headers, response, error, ms } = attempt;
  const { error: _kind, ...summary } = attemptSummary(attempt);
  return {
    ...summary,
    attempt: attempt.attempt,
    delivery_id: delivery.id,
    // Set if a fault changed the body and the sandbox signed it again.
    ...maybe("mutated", (attempt.body !== undefined && attempt.tamper === undefined) || undefined),
    request: { url, headers, body: bodyShape(whole(attempt.body ?? delivery.body), full) },
    ...maybe(
      "response",
      response && {
        status: response.status,
        headers: response.headers,
        body: bodyShape(response.body, full),
        ms,
      },
    ),
    ...maybe("error", error),
    ...maybe("log", attempt.log),
    signature: await signatureShape(world, delivery, attempt),
    assumptions: assumptionsBehind(attempt),
  };
}

/**
 * Returns the ids of the assumptions that apply to a timeline item, or none for a call or delivery that is not stored.
 *
 * @param shownAttempt returns the number of the delivery's attempt that is shown
 */
export function assumptionsOfItem(
  world: World,
  id: string,
  shownAttempt: (attempts: DeliveryRecord["attempts"]) => number,
): readonly string[] {
  const call = world.state.calls.get(id);
  if (call) return assumptionsOfCall(world, call);
  if (id.startsWith("send_"))
    return assumptionsOfCall(world, { method: "POST", path: "/v1/emails" });
  if (id.startsWith("src_")) return ["A-03", "A-04"];
  const [delivery] = deliveriesNamed(world, id);
  if (!delivery) return [];
  const shown = shownAttempt(delivery.attempts);
  const attempt = delivery.attempts.find(({ n }) => n === shown);
  const ids = new Set(deliveryShape(world, delivery).assumptions);
  for (const assumption of attempt ? assumptionsBehind(attempt) : []) ids.add(assumption);
  return Array.from(ids).toSorted();
}

export function attemptCurl(world: World, id: string, n: string): string {
  const { delivery, attempt } = findAttempt(world, id, n);
  return curlCommand({ ...attempt, body: attempt.body ?? delivery.body });
}
