import { z } from "zod";
import { invalid } from "../errors.js";
import type { World } from "../world.js";
import type { CallRecord, DeliveryRecord, EventRecord, SendRecord } from "../state/records.js";
import { deliveriesOf, eventsOf, receiverCode } from "./shapes.js";

/** The states of deliveries in the words of the page, and events that went to no endpoint. */
const states = ["waiting", "failed", "succeeded", "sending", "not_sent"] as const;

/** The page's words for the states of A-08. */
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
  before: z.string().max(200).optional(),
  limit: z
    .string()
    .regex(/^(?:[1-9]\d?|100)$/, `must be a number from 1 to ${mostCalls}`)
    .transform(Number)
    .optional(),
});

export type TimelineQuery = z.output<typeof timelineQuery>;

/** Returns at most `limit` calls that match, newest first, from the cursor on. */
export function findCalls(world: World, query: TimelineQuery, limit: number): CallRecord[] {
  const calls = Array.from(world.state.calls.all()).toReversed();
  const text = query.q?.trim().toLowerCase() ?? "";
  const found: CallRecord[] = [];
  for (let at = query.before === undefined ? 0 : startAfter(calls, query.before); ; at += 1) {
    const call = calls[at];
    if (!call || found.length === limit) return found;
    if (matchesFilter(world, call, query) && (text === "" || matchesText(world, call, text)))
      found.push(call);
  }
}

export const cursorOf = ({ at, id }: CallRecord): string =>
  Buffer.from(`${at} ${id}`).toString("base64url");

/** The place behind the call of a cursor, which may have been dropped meanwhile. */
function startAfter(calls: readonly CallRecord[], cursor: string): number {
  const [, at, id] =
    /^(\d{1,16}) (call_\w+)$/.exec(Buffer.from(cursor, "base64url").toString()) ?? [];
  if (at === undefined) throw invalid("before", "before must be the next_cursor of a page.");
  const known = calls.findIndex((call) => call.id === id);
  if (known >= 0) return known + 1;
  const older = calls.findIndex((call) => call.at < Number(at));
  return older < 0 ? calls.length : older;
}

/** All conditions on one delivery, or on an event that went nowhere. */
function matchesFilter(world: World, call: CallRecord, query: TimelineQuery): boolean {
  const { state, type, endpoint_id: endpointId } = query;
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

/** Shorter texts would be found in many random ids and keys. */
const shortestIdPart = 5;

function matchesText(world: World, call: CallRecord, text: string): boolean {
  const within = (value: string | undefined) => value?.toLowerCase().includes(text) === true;
  const isId = (id: string | undefined) => text.length >= shortestIdPart && within(id);
  const isStatus = (status: number | undefined) => String(status) === text;
  const inSend = (send: SendRecord | undefined) =>
    send !== undefined &&
    (isId(send.id) ||
      isId(send.emailId) ||
      isId(send.messageId) ||
      within(send.subject) ||
      within(send.from) ||
      send.to.some(within));
  const inDelivery = (delivery: DeliveryRecord) =>
    [delivery.id, delivery.deliveryId, delivery.eventId, delivery.endpointId].some(isId) ||
    within(world.state.endpoints.get(delivery.endpointId)?.url) ||
    delivery.attempts.some(
      (attempt) =>
        isStatus(attempt.answer?.status) ||
        within(attempt.error?.kind) ||
        within(receiverCode(attempt)),
    );
  const inEvent = (event: EventRecord) =>
    isId(event.id) ||
    within(event.type) ||
    within(event.notSent) ||
    deliveriesOf(world, event).some(inDelivery);
  return (
    isId(call.id) ||
    within(call.path) ||
    within(call.method) ||
    isStatus(call.status) ||
    within(call.code) ||
    isId(call.idempotencyKey) ||
    isId(call.faultId) ||
    inSend(call.sendId === undefined ? undefined : world.state.sends.get(call.sendId)) ||
    eventsOf(world, call).some(inEvent)
  );
}
