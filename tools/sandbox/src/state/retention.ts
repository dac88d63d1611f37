import { ApiError } from "../errors.js";
import type { Change } from "./journal.js";
import {
  isOpen,
  isRunning,
  type AttemptRecord,
  type CallRecord,
  type DeliveryRecord,
  type SendRecord,
} from "./records.js";
import type { State } from "./state.js";

export interface RetentionLimits {
  /** The maximum number of deliveries, and of calls, to keep. Default 10,000. */
  readonly maxDeliveries: number;
  /** The maximum number of bytes of requests, responses and emails to keep. Default 64 MiB. */
  readonly maxBytes: number;
}

export const defaultLimits: RetentionLimits = { maxDeliveries: 10_000, maxBytes: 64 * 1_048_576 };

/**
 * The minimum number of written changes between two scans. About forty sends, each of at most 1 MiB by default,
 * cause that many changes.
 */
const changesBetween = 200;

/**
 * The share of each limit to which a scan reduces the records if they exceed the limit. It is below 1, so that the next
 * few calls do not cause another scan.
 */
const shrinkTo = 0.9;

/** The limit at which new work is refused, as a multiple of the limits for kept records. */
const pendingFactor = 5;

export function createRetention(state: State, { maxDeliveries, maxBytes }: RetentionLimits) {
  let dropped = 0;
  let changes = 0;
  /** The bytes counted by the last scan, plus those written since. A record written twice since then counts twice. */
  let bytes = 0;

  const hasTooManyCalls = (share: number) =>
    state.calls.size > maxDeliveries * share || bytes > maxBytes * share;

  const isOver = (share: number) =>
    state.deliveries.size > maxDeliveries * share || hasTooManyCalls(share);

  const dropFinished = (call: CallRecord) => {
    if (!isFinished(state, call)) return;
    bytes -= drop(state, call);
    dropped += 1;
  };

  const look = () => {
    changes = 0;
    bytes = 0;
    for (const send of state.sends.all()) bytes += bytesOfSend(send);
    for (const call of state.calls.all()) bytes += bytesOfCall(call);
    for (const delivery of state.deliveries.all()) bytes += bytesOfDelivery(delivery);
    if (!isOver(1)) return;
    for (const call of state.calls.all()) {
      if (!hasTooManyCalls(shrinkTo)) break;
      // Calls without a send or an event, such as reads and rejected requests, are dropped first, so that a flood of
      // them does not displace an accepted send.
      if (call.events.length === 0 && call.sendId === undefined) dropFinished(call);
    }
    for (const call of state.calls.all()) {
      if (!isOver(shrinkTo)) return;
      dropFinished(call);
    }
  };

  return {
    /** The number of calls that have been dropped so far. */
    get dropped(): number {
      return dropped;
    },
    /** Checks the limit for pending work, which is never dropped. @throws ApiError 503 `too_many_pending` */
    assertRoom: (): void => {
      if (isOver(pendingFactor)) look();
      if (!isOver(pendingFactor)) return;
      throw new ApiError(
        503,
        "too_many_pending",
        "Too many deliveries are waiting. Start the receiver (and move the clock if it is manual), archive its endpoint, or reset the sandbox.",
        { headers: { "Retry-After": "5" } },
      );
    },
    /** Counts all stored bytes again after a rewind. Over a limit, drops finished calls, as `committed` does. */
    recount: look,
    /**
     * Counts the written changes. Over a limit, and after enough changes, drops finished calls, oldest first, with
     * everything that they caused. If there are too many calls or bytes, calls without a send or an event are dropped
     * before all others.
     */
    committed(written: readonly Change[]): void {
      changes += written.length;
      for (const change of written) bytes += bytesOf(change);
      // Waits longer with more deliveries, so that full scans stay rare while nothing can be dropped.
      const wait = changesBetween + (isOver(1) ? state.deliveries.size / 10 : 0);
      if (changes >= wait && isOver(1)) look();
    },
  };
}

export type Retention = Readonly<ReturnType<typeof createRetention>>;

function bytesOf({ kind, value }: Change): number {
  if (value === undefined) return 0;
  // The casts are safe, because the kind determines the type.
  switch (kind) {
    case "call":
      return bytesOfCall(value as CallRecord);
    case "send":
      return bytesOfSend(value as SendRecord);
    case "body":
      return (value as Uint8Array).length;
    case "attempt":
      return bytesOfAttempt(value as AttemptRecord);
    default:
      return 0;
  }
}

function bytesOfCall({ path, headers, body, response }: CallRecord): number {
  let bytes = path.length + (body?.content.length ?? 0) + (response?.body.content.length ?? 0);
  for (const [name, value] of headers) bytes += name.length + value.length;
  return bytes;
}

/** The approximate memory of an address in a list, in bytes: a short string and its array slot in V8. */
const bytesOfAddress = 50;

const bytesOfSend = ({ html, text, to }: SendRecord) =>
  (html?.length ?? 0) + (text?.length ?? 0) + to.length * bytesOfAddress;

const bytesOfAttempt = ({ response, body, log }: AttemptRecord) =>
  (response?.body.content.length ?? 0) + (body?.length ?? 0) + (log?.join("").length ?? 0);

function bytesOfDelivery({ body, attempts }: DeliveryRecord): number {
  let bytes = body.length;
  for (const attempt of attempts) bytes += bytesOfAttempt(attempt);
  return bytes;
}

const deliveriesOf = (state: State, { events }: CallRecord) =>
  events.flatMap((id) => state.events.get(id)?.deliveries ?? []);

function isFinished(state: State, call: CallRecord): boolean {
  if (isRunning(call)) return false;
  if (call.sendId !== undefined && (state.sends.get(call.sendId)?.next.length ?? 0) > 0)
    return false;
  return deliveriesOf(state, call).every((id) => {
    const delivery = state.deliveries.get(id);
    return !delivery || !isOpen(delivery);
  });
}

/** Drops a call with everything that it caused. Returns the number of bytes freed. */
function drop(state: State, call: CallRecord): number {
  let bytes = bytesOfCall(call);
  for (const id of deliveriesOf(state, call)) {
    const delivery = state.deliveries.get(id);
    if (delivery) bytes += bytesOfDelivery(delivery);
    state.deliveries.drop(id);
  }
  for (const id of call.events) state.events.drop(id);
  // The call of an idempotent replay refers to an earlier call's send, which must not be dropped with the replay.
  const send = state.sends.get(call.sendId ?? "");
  if (send?.callId === call.id) {
    bytes += bytesOfSend(send);
    state.sends.drop(send.id);
  }
  state.calls.drop(call.id);
  return bytes;
}
