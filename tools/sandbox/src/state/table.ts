import type { ClockState } from "../clock.js";
import type { IdsPosition } from "../lib/ids.js";
import type * as records from "./records.js";

export interface Kinds {
  readonly call: records.CallRecord;
  readonly send: records.SendRecord;
  readonly domain: records.DomainRecord;
  readonly endpoint: records.EndpointRecord;
  readonly event: records.EventRecord;
  readonly delivery: records.DeliveryRecord;
  readonly idempotency: records.IdempotencyRecord;
  readonly fault: records.FaultRecord;
  /** Single values, such as the clock, the selected assumptions and the number of starts. */
  readonly setting: { readonly id: string; readonly value: unknown };
  readonly checkpoint: CheckpointRecord;
}

/** Copies of all records, except checkpoints. */
export type Copies = { readonly [Name in Exclude<Kind, "checkpoint">]: readonly Kinds[Name][] };

/** The whole state of the sandbox at one moment. */
export interface CheckpointRecord {
  /** The name that the developer chose. */
  readonly id: string;
  readonly clock: ClockState;
  /** The `seq` of the newest delivery at that moment. */
  readonly seq: number;
  readonly copies: Copies;
  /** The position in the sequence of ids. Undefined if ids are random. */
  readonly ids: IdsPosition | undefined;
  /** The values of the assumptions by their ids, as they are saved. Functions and emit maps are left out. */
  readonly assumptions: Readonly<Record<string, unknown>>;
  /** The windows of the rate limit. */
  readonly windows: readonly RateWindow[];
}

/** Counts the requests of an API key in the current window of the rate limit. */
export interface RateWindow {
  /** A hash of the API key. */
  readonly who: string;
  readonly startedAt: number;
  used: number;
}

export type Kind = keyof Kinds;

/** The records of one kind, in the order of their creation. */
export interface Table<Item> {
  readonly size: number;
  readonly get: (id: string) => Item | undefined;
  readonly all: () => Iterable<Item>;
  /** Like `all`, but returns an array, which is valid until the next change. */
  readonly list: () => readonly Item[];
  /** Adds or replaces a record. Must also be called after a record has been changed, to report the change. */
  readonly put: (item: Item) => Item;
  readonly drop: (id: string) => void;
  /** Replaces all records, without reporting changes. */
  readonly replace: (items: Iterable<Item>) => void;
}

type PluralOf<Name extends Kind> = Name extends "idempotency"
  ? Name
  : Name extends "delivery"
    ? "deliveries"
    : `${Name}s`;

/** All records: `calls`, `deliveries` and so on. */
export type Tables = { readonly [Name in Kind as PluralOf<Name>]: Table<Kinds[Name]> };

/**
 * Creates a table on `map`.
 * @param changed is called for each record that is added, changed or dropped; a dropped record has no value
 */
export function createTable<Item extends { readonly id: string }>(
  map: Map<string, Item>,
  changed: (id: string, value: Item | undefined, isAdded: boolean) => void,
): Table<Item> {
  /** The cached result of `list`. A new record is appended, so that the next `list` does not copy all records again. */
  let list: Item[] | undefined;
  return {
    get size() {
      return map.size;
    },
    get: (id) => map.get(id),
    all: () => map.values(),
    list: () => (list ??= Array.from(map.values())),
    put(item) {
      const known = map.get(item.id);
      if (known === undefined) list?.push(item);
      else if (known !== item) list = undefined;
      map.set(item.id, item);
      changed(item.id, item, known === undefined);
      return item;
    },
    drop(id) {
      if (!map.delete(id)) return;
      list = undefined;
      changed(id, undefined, false);
    },
    replace(items) {
      map.clear();
      list = undefined;
      for (const item of items) map.set(item.id, item);
    },
  };
}
