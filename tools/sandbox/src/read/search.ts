import { z } from "zod";
import { invalid } from "../errors.js";
import { pageLimit } from "../service/schemas.js";
import type { World } from "../world.js";
import type { CallRecord, DeliveryRecord } from "../state/records.js";
import { deliveriesOf, eventsOf, receiverCode } from "./shapes.js";

/** The page's words for the states of deliveries, and `not_sent` for events that went to no endpoint. */
const states = ["waiting", "failed", "succeeded", "sending", "not_sent"] as const;

/** The page's words for the delivery states of A-08. */
export const stateWords = {
  pending: "waiting",
  attempting: "sending",
  succeeded: "succeeded",
  failed: "failed",
} as const satisfies Record<DeliveryRecord["state"], (typeof states)[number]>;

export const mostCalls = 100;

export const timelineQuery = z.object({
  state: z.enum(states).optional(),
  type: z.string().max(200).optional(),
  endpoint_id: z.string().max(200).optional(),
  q: z.string().max(200).optional(),
  /** `false` leaves out reads that succeeded without a fault. */
  reads: z.enum(["true", "false"]).optional(),
  before: z.string().max(200).optional(),
  limit: pageLimit,
});

export type TimelineQuery = z.output<typeof timelineQuery>;

/**
 * Returns at most `limit` matching calls, newest first, starting after the cursor.
 * @throws ApiError 400 for an invalid cursor
 */
export function findCalls(world: World, query: TimelineQuery, limit: number): CallRecord[] {
  const calls = world.state.calls.list();
  const text = query.q?.trim().toLowerCase() ?? "";
  const matches: CallRecord[] = [];
  const end = query.before === undefined ? calls.length : endBefore(calls, query.before);
  for (let index = end - 1; ; index -= 1) {
    const call = calls[index];
    if (!call || matches.length === limit) return matches;
    if (matchesFilter(world, call, query) && (text === "" || matchesText(world, call, text)))
      matches.push(call);
  }
}

/** Returns the cursor with which {@link findCalls} continues after a call. */
export const cursorOf = ({ at, id }: Pick<CallRecord, "at" | "id">): string =>
  Buffer.from(`${at} ${id}`).toString("base64url");

const partsOf = (cursor: string) =>
  /^(\d{1,16}) (call_\w+)$/.exec(Buffer.from(cursor, "base64url").toString());

export const isCursor = (text: string): boolean => partsOf(text) !== null;

/** Returns the number of calls that are older than the cursor's call, which itself may have been dropped. */
function endBefore(calls: readonly CallRecord[], cursor: string): number {
  const [, at, id] = partsOf(cursor) ?? [];
  if (at === undefined) throw invalid("before", "before must be the next_cursor of a page.");
  const known = calls.findLastIndex((call) => call.id === id);
  return known >= 0 ? known : calls.findLastIndex((call) => call.at < Number(at)) + 1;
}

/** Whether the call is a read that succeeded without a fault. */
const isQuietRead = ({ method, status, faultId }: CallRecord) =>
  method === "GET" && status >= 200 && status < 400 && faultId === undefined;

/**
 * Whether a call meets a query's conditions on `reads`, `state`, `type` and `endpoint_id`. The last three must all hold
 * for the same delivery, or for the same event that went to no endpoint.
 */
function matchesFilter(world: World, call: CallRecord, query: TimelineQuery): boolean {
  const { state, type, endpoint_id: endpointId, reads } = query;
  if (reads === "false" && isQuietRead(call)) return false;
  if (state === undefined && type === undefined && endpointId === undefined) return true;
  const matchesDelivery = (delivery: DeliveryRecord) =>
    (state === undefined || stateWords[delivery.state] === state) &&
    (endpointId === undefined || delivery.endpointId === endpointId);
  return eventsOf(world, call).some((event) => {
    if (type !== undefined && event.type !== type) return false;
    if (endpointId === undefined && event.notSent !== undefined)
      return state === undefined || state === "not_sent";
    return deliveriesOf(world, event).some(matchesDelivery);
  });
}

/** The minimum length of a text to search for in ids and keys. A shorter text would match many random ids. */
const shortestIdPart = 5;

/** The lower-case texts of a call, in which a search looks for the query's text. */
interface Words {
  readonly revision: number;
  readonly ids: string;
  readonly texts: string;
  readonly statuses: ReadonlySet<string>;
}

/** The texts of each call, collected once per revision because a search scans all calls. */
const words = new WeakMap<CallRecord, Words>();

function wordsOf(world: World, call: CallRecord): Words {
  const revision = world.state.tally.revisionOf(call.id);
  const known = words.get(call);
  if (known?.revision === revision) return known;
  const send = call.sendId === undefined ? undefined : world.state.sends.get(call.sendId);
  const events = eventsOf(world, call);
  const deliveries = events.flatMap((event) => deliveriesOf(world, event));
  const attempts = deliveries.flatMap((delivery) => delivery.attempts);
  const ids = [
    call.id,
    call.idempotencyKey,
    call.faultId,
    send?.id,
    send?.emailId,
    send?.messageId,
    ...events.map(({ id }) => id),
    ...deliveries.flatMap((delivery) => [
      delivery.id,
      delivery.deliveryId,
      delivery.eventId,
      delivery.endpointId,
    ]),
  ];
  const texts = [
    call.path,
    call.method,
    call.code,
    send?.subject,
    send?.from,
    ...(send?.to ?? []),
    ...events.flatMap(({ type, notSent }) => [type, notSent]),
    ...deliveries.map(({ endpointId }) => world.state.endpoints.get(endpointId)?.url),
    ...attempts.flatMap((attempt) => [attempt.error?.kind, receiverCode(attempt)]),
  ];
  const entry = {
    revision,
    ids: joined(ids),
    texts: joined(texts),
    statuses: new Set(
      [call.status, ...attempts.map(({ response }) => response?.status)].map(String),
    ),
  };
  words.set(call, entry);
  return entry;
}

/** Joins texts in lower case, separated by NUL. A query's text usually contains no NUL, so no match spans two texts. */
const joined = (parts: readonly (string | undefined)[]): string =>
  parts
    .filter((part) => part !== undefined)
    .join("\0")
    .toLowerCase();

function matchesText(world: World, call: CallRecord, text: string): boolean {
  const { ids, texts, statuses } = wordsOf(world, call);
  return (
    texts.includes(text) ||
    statuses.has(text) ||
    (text.length >= shortestIdPart && ids.includes(text))
  );
}
