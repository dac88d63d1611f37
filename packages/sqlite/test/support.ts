import {
  call,
  claimBy,
  observedReceiver,
  type ObservedReceiver,
} from "@svc-webhooks/kit/receivers";
import { signed } from "@svc-webhooks/kit/deliveries";
import { openSqlite, sqliteFile } from "@svc-webhooks/kit/sqlite";
import type { DeliveryContext, DeliveryStore } from "@svc-webhooks/core";
import {
  migrate,
  sqliteStore,
  type RunIdentity,
  type SqliteStore,
  type SqliteStoreOptions,
} from "@svc-webhooks/sqlite";
import type { DatabaseSyncInstance } from "@photostructure/sqlite";

/** Returns the key of a record, as receivers create it. */
export const keyOf = (index: number): string => index.toString(16).padStart(32, "0");

export const key: string = keyOf(0);

export interface TestDatabase {
  readonly file: string;
  readonly db: DatabaseSyncInstance;
  readonly store: SqliteStore<DatabaseSyncInstance>;
}

/** Opens a store on an empty file, with a table `effects` for the application. */
export function openStore(options?: SqliteStoreOptions): TestDatabase {
  const file = sqliteFile();
  const db = openSqlite(file);
  const store = sqliteStore(db, options);
  migrate(db);
  db.exec("create table effects (name text)");
  return { file, db, store };
}

/** Claims a record. Resolves to the context of the handler that runs then. */
export async function claimed(
  store: DeliveryStore,
  { of = key, token = "a" }: { readonly of?: string; readonly token?: string } = {},
): Promise<RunIdentity> {
  const result = await store.claim(of, claimBy(token), call);
  if (result.status !== "claimed") throw new Error(`The record is ${result.status}.`);
  return { idempotencyKey: of, fence: result.fence };
}

export const insert = (on: Pick<DatabaseSyncInstance, "prepare">, name: string): void =>
  void on.prepare("insert into effects values (?)").run(name);

/** Returns the committed names, in the order of their insertion. */
export const effects = (db: DatabaseSyncInstance): readonly unknown[] =>
  db
    .prepare("select name from effects")
    .all()
    .map((row) => (row as { name: unknown }).name);

export const states = (db: DatabaseSyncInstance): readonly unknown[] =>
  db
    .prepare("select state from svc_webhooks_deliveries")
    .all()
    .map((row) => (row as { state: unknown }).state);

/** Returns a receiver whose handler is `run`. */
export const receiverOver = (
  store: DeliveryStore,
  run: (context: DeliveryContext) => unknown,
): ObservedReceiver =>
  observedReceiver({ store, on: { "*": (_event, context) => run(context) as void } });

let deliveryCount = 0;

/** Returns a delivery with an id of its own. */
export const newDelivery = () => {
  deliveryCount += 1;
  return signed(undefined, { "x-svc-delivery-id": `dlv_${deliveryCount}` });
};
