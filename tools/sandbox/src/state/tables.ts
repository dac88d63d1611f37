import type { Commits } from "./commits.js";
import type { DeliveryRecord } from "./records.js";
import { createTable, type Kind, type Kinds, type Table, type Tables } from "./table.js";

/** All records by kind and id. */
export type Maps = { readonly [Name in Kind]: Map<string, Kinds[Name]> };

export const newMaps = (): Maps => ({
  call: new Map(),
  send: new Map(),
  domain: new Map(),
  endpoint: new Map(),
  event: new Map(),
  delivery: new Map(),
  idempotency: new Map(),
  fault: new Map(),
  setting: new Map(),
  checkpoint: new Map(),
});

export type TablesByKind = { readonly [Name in Kind]: Table<Kinds[Name]> };

/**
 * Creates all tables.
 *
 * @param change is called for each record that is added, changed or dropped; a dropped record has no value
 * @param noteChange is called after each of these changes, except for changes to a delivery's parts
 */
export function createTables(
  maps: Maps,
  change: Commits["change"],
  noteChange: (kind: Kind, id: string) => void,
): TablesByKind {
  const table = <Name extends Kind>(kind: Name) =>
    createTable<Kinds[Name]>(maps[kind], (id, value, isAdded) => {
      change(kind, id, value, isAdded);
      noteChange(kind, id);
    });
  return {
    call: table("call"),
    send: table("send"),
    domain: table("domain"),
    endpoint: table("endpoint"),
    event: table("event"),
    delivery: withParts(table("delivery"), change),
    idempotency: table("idempotency"),
    fault: table("fault"),
    setting: table("setting"),
    checkpoint: table("checkpoint"),
  };
}

/** Returns the tables under the names that the rest of the sandbox uses. */
export const named = (tables: TablesByKind): Tables => ({
  calls: tables.call,
  sends: tables.send,
  domains: tables.domain,
  endpoints: tables.endpoint,
  events: tables.event,
  deliveries: tables.delivery,
  idempotency: tables.idempotency,
  faults: tables.fault,
  settings: tables.setting,
  checkpoints: tables.checkpoint,
});

/** Extends the delivery table with the parts of a delivery that have separate records: its body and its attempts. */
const withParts = (
  deliveries: Table<DeliveryRecord>,
  change: Commits["change"],
): Table<DeliveryRecord> => ({
  ...deliveries,
  get size() {
    return deliveries.size;
  },
  put(delivery) {
    // The body never changes, so it is written only once.
    if (!deliveries.get(delivery.id)) change("body", delivery.id, delivery.body, true);
    return deliveries.put(delivery);
  },
  drop(id) {
    for (const { n } of deliveries.get(id)?.attempts ?? [])
      change("attempt", `${id} ${n}`, undefined);
    change("body", id, undefined);
    deliveries.drop(id);
  },
});
