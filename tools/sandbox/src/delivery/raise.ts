import type { Occasion } from "../assumptions/table.js";
import { messageOf } from "../errors.js";
import { iso } from "../lib/iso.js";
import type { World } from "../world.js";
import type {
  AccountId,
  DeliveryRecord,
  EndpointRecord,
  EventRecord,
  NotSent,
} from "../state/records.js";
import { isEventType } from "./event-types.js";
import { eventBytes } from "./body.js";

export interface Happening {
  readonly account: AccountId;
  readonly callId: string;
  readonly sendId?: string;
  readonly occasion: Occasion;
  readonly data: Readonly<Record<string, unknown>>;
}

/**
 * Raises the event of an occasion, and creates a delivery to each of the account's active endpoints that subscribe to
 * the event's type. If the occasion raises no event, no active endpoint subscribes to the type, or the body cannot be
 * created, records the reason and creates no delivery. Returns the new deliveries. The caller starts them.
 */
export function raise(world: World, happening: Happening): readonly DeliveryRecord[] {
  const { ledger } = world;
  const type = ledger.get("event.emits")[happening.occasion];
  if (type === undefined || !isEventType(ledger, type)) {
    record(world, happening, type ?? happening.occasion, "not_emitted");
    return [];
  }

  const { endpoints, notSent } = recipientsOf(world, happening.account, type);
  const event = record(world, happening, type, notSent);
  if (notSent !== undefined) return [];
  try {
    return deliver(world, event, happening, endpoints);
  } catch (error) {
    event.notSent = "not_emitted";
    world.state.events.put(event);
    world.log(`${event.id}: the event's body could not be created (A-07): ${messageOf(error)}`);
    return [];
  }
}

/** Returns the account's active endpoints that subscribe to an event type, and the reason if there are none. */
export function recipientsOf({ state }: World, account: AccountId, type: string) {
  const all = Array.from(state.endpoints.all()).filter((endpoint) => endpoint.account === account);
  const subscribed = all.filter((endpoint) => endpoint.eventTypes.includes(type));
  const endpoints = subscribed.filter(({ status }) => status === "active");
  if (endpoints.length > 0) return { endpoints };
  if (all.length === 0) return { endpoints, notSent: "no_endpoint" } as const;
  return {
    endpoints,
    notSent: subscribed.length > 0 ? "archived" : "type_not_subscribed",
  } as const;
}

function record(
  { state, clock, ids }: World,
  { account, callId, sendId }: Happening,
  type: string,
  notSent?: NotSent,
): EventRecord {
  const event = {
    id: ids.next("src"),
    account,
    callId,
    sendId,
    type,
    at: clock.now(),
    notSent,
    deliveries: [],
  };
  const call = state.calls.get(callId);
  if (call) {
    call.events.push(event.id);
    state.calls.put(call);
  }
  return state.events.put(event);
}

function deliver(
  { state, ledger, ids }: World,
  event: EventRecord,
  { account, callId, data }: Happening,
  endpoints: readonly EndpointRecord[],
): readonly DeliveryRecord[] {
  const shared = ledger.get("event.identity") === "shared" ? ids.next("evt") : undefined;
  const subscription = ledger.get("subscription.id") === "per-type" ? event.type : "*";
  const deliveries = endpoints.map((endpoint): DeliveryRecord => {
    const eventId = shared ?? ids.next("evt");
    const facts = {
      event_id: eventId,
      type: event.type,
      created_at: iso(event.at),
      data,
    };
    const id = ids.next("dlv");
    return {
      id,
      seq: state.nextSeq(),
      account,
      callId,
      eventId,
      sourceEventId: event.id,
      endpointId: endpoint.id,
      subscriptionId: endpoint.subscriptions[subscription] ?? "",
      type: event.type,
      createdAt: event.at,
      deliveryId: id,
      state: "pending",
      nextAttemptAt: event.at,
      trigger: "event",
      retries: 0,
      attempt: 0,
      body: eventBytes(facts, ledger.get("event.body"), ledger.get("event.bytes")),
      attempts: [],
    };
  });
  for (const delivery of deliveries) state.deliveries.put(delivery);
  event.deliveries.push(...deliveries.map(({ id }) => id));
  state.events.put(event);
  return deliveries;
}
