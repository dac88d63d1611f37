import { DatabaseSync } from "@photostructure/sqlite";
import { lasting, type Known } from "./clients.js";
import { isSignedWith, type Arrival } from "./receiver.js";

/** The mistakes found, by kind. */
export interface Verdict {
  /** The keys whose 202 contained the id of a send that does not exist. */
  readonly lost: readonly string[];
  /** The keys with more than one send, either in responses or in the file. */
  readonly sentTwice: readonly string[];
  /**
   * The sends without exactly one event of each type, the events with several deliveries to one endpoint, and the
   * domains with too few or too many events.
   */
  readonly wrongEvents: readonly string[];
  /** The events that arrived under several ids, or whose bytes differed between attempts. */
  readonly changed: readonly string[];
  /** The deliveries and redeliveries to the lasting endpoint that never arrived. */
  readonly neverArrived: readonly string[];
  /** The deliveries still pending at the end. */
  readonly unfinished: readonly string[];
  /** The endpoints that received a delivery more than a second after they were archived. */
  readonly revived: readonly string[];
  /** The deliveries that were not signed with the current secret more than a second after its rotation. */
  readonly oldSecret: readonly string[];
}

export const nothingWrong: Verdict = {
  lost: [],
  sentTwice: [],
  wrongEvents: [],
  changed: [],
  neverArrived: [],
  unfinished: [],
  revived: [],
  oldSecret: [],
};

/** The records in the file on which the verdict is based. */
interface Filed {
  readonly sends: readonly { readonly id: string; readonly subject: string }[];
  readonly events: readonly {
    readonly id: string;
    readonly sendId?: string;
    readonly type: string;
    readonly deliveries: readonly string[];
  }[];
  readonly deliveries: readonly {
    readonly id: string;
    readonly eventId: string;
    readonly sourceEventId: string;
    readonly endpointId: string;
    readonly state: string;
  }[];
}

export function readDataFile(path: string): Filed {
  const database = new DatabaseSync(path);
  const all = database.prepare("SELECT value FROM record WHERE kind = ?");
  const recordsOf = (kind: string) =>
    all.all(kind).map((row) => JSON.parse(String(row["value"])) as never);
  const filed = {
    sends: recordsOf("send"),
    events: recordsOf("event"),
    deliveries: recordsOf("delivery"),
  };
  database.close();
  return filed;
}

const toleranceMs = 1_000;

export function judge(
  known: Known,
  arrivals: readonly Arrival[],
  { sends, events, deliveries }: Filed,
  missing: ReadonlySet<string>,
): Verdict {
  const ids = new Set(sends.map(({ id }) => id));
  const keys = countBy(sends, ({ subject }) => subject);
  const ofSends = countBy(events, ({ sendId = "", type }) => `${sendId} ${type}`);
  const perEndpoint = countBy(
    deliveries,
    ({ sourceEventId, endpointId }) => `${sourceEventId} ${endpointId}`,
  );
  const toLasting = deliveries.filter(({ endpointId }) => endpointId === known.lastingId);
  const arrivedLasting = arrivals.filter(({ path }) => path === lasting);
  const arrivedIds = new Set(arrivedLasting.map(({ eventId }) => eventId));
  const domainEvents = new Map<string, Set<string>>();
  for (const { type, subject, eventId } of arrivedLasting) {
    if (type !== "domain.updated") continue;
    domainEvents.set(subject, (domainEvents.get(subject) ?? new Set()).add(eventId));
  }
  return {
    lost: [...known.sends].flatMap(([key, [id = ""]]) =>
      ids.has(id) && !missing.has(key) ? [] : key,
    ),
    sentTwice: [
      ...[...known.sends].flatMap(([key, found]) => (found.size > 1 ? key : [])),
      ...[...keys].flatMap(([key, count]) => (count > 1 ? key : [])),
    ],
    wrongEvents: [
      ...[...ids]
        .flatMap((id) => [`${id} email.sent`, `${id} email.delivered`])
        .filter((name) => ofSends.get(name) !== 1),
      ...[...perEndpoint].flatMap(([name, count]) => (count > 1 ? name : [])),
      ...[...known.domains].flatMap(([id, { asked, answered }]) => {
        const found = domainEvents.get(id)?.size ?? 0;
        return found < answered || found > asked ? `${id}: ${answered} ≤ ${found} ≤ ${asked}` : [];
      }),
    ],
    changed: [
      ...several(
        arrivals,
        ({ eventId }) => eventId,
        ({ sha256 }) => sha256,
      ),
      ...several(
        arrivals.filter(({ type }) => type !== "domain.updated"),
        ({ path, subject, type }) => `${path} ${subject} ${type}`,
        ({ eventId }) => eventId,
      ),
    ],
    neverArrived: [
      ...toLasting.flatMap(({ eventId }) => (arrivedIds.has(eventId) ? [] : eventId)),
      ...known.redelivered.flatMap(({ eventId, at }) =>
        arrivedLasting.some((arrival) => arrival.eventId === eventId && arrival.at > at)
          ? []
          : `${eventId} after its redelivery`,
      ),
    ],
    unfinished: deliveries.flatMap(({ id, state }) =>
      state === "succeeded" || state === "failed" ? [] : id,
    ),
    revived: arrivals.flatMap(({ path, at }) =>
      at > (known.archived.get(path) ?? Infinity) + toleranceMs ? path : [],
    ),
    oldSecret: arrivedLasting.flatMap((arrival) =>
      !known.rotating &&
      arrival.at > known.rotatedAt + toleranceMs &&
      !isSignedWith(arrival, known.secret)
        ? arrival.eventId
        : [],
    ),
  };
}

function countBy<Item>(items: readonly Item[], keyOf: (item: Item) => string): Map<string, number> {
  const counts = new Map<string, number>();
  for (const item of items) counts.set(keyOf(item), (counts.get(keyOf(item)) ?? 0) + 1);
  return counts;
}

/** Returns the keys that have more than one distinct value. */
function several<Item>(
  items: readonly Item[],
  keyOf: (item: Item) => string,
  valueOf: (item: Item) => string,
): string[] {
  const first = new Map<string, string>();
  const found = new Set<string>();
  for (const item of items) {
    const value = first.get(keyOf(item)) ?? valueOf(item);
    first.set(keyOf(item), value);
    if (value !== valueOf(item)) found.add(keyOf(item));
  }
  return [...found];
}
