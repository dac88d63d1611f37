import { execFile } from "node:child_process";
import { existsSync, readdirSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import type { TestStore } from "@svc-webhooks/kit/postgres-clients";
import { postgresServer, type PostgresServer } from "@svc-webhooks/kit/postgres-server";
import {
  call,
  claimBy,
  observedReceiver,
  type ObservedReceiver,
} from "@svc-webhooks/kit/receivers";
import { signed } from "@svc-webhooks/kit/deliveries";
import type { DeliveryContext, DeliveryStore, ReceiverOptions } from "@svc-webhooks/core";
import type { RunIdentity } from "@svc-webhooks/postgres";
import { afterAll, beforeAll } from "vitest";

/** Starts a server for the tests of a `describe`. */
export function useServer(settings?: Readonly<Record<string, string>>): () => PostgresServer {
  let server: PostgresServer;
  beforeAll(async () => (server = await postgresServer(settings)));
  afterAll(() => server?.close());
  return () => server;
}

/** Returns the key of a record, as receivers create it. */
export const keyOf = (index: number): string => index.toString(16).padStart(32, "0");

export const key: string = keyOf(0);

interface Claim {
  readonly key?: string;
  readonly token?: string;
  readonly leaseMs?: number;
}

/** Claims a record. Resolves to the context of the handler that runs then. */
export async function claimed(
  store: DeliveryStore,
  { key: ofRecord = key, token = "a", leaseMs = 30_000 }: Claim = {},
): Promise<RunIdentity> {
  const result = await store.claim(ofRecord, { ...claimBy(token), leaseMs }, call);
  if (result.status !== "claimed") throw new Error(`The record is ${result.status}.`);
  return { idempotencyKey: ofRecord, fence: result.fence };
}

let deliveryCount = 0;

/** Returns a delivery with an id of its own. */
export const newDelivery = () => {
  deliveryCount += 1;
  return signed(undefined, { "x-svc-delivery-id": `dlv_${deliveryCount}` });
};

/** Creates empty tables: the store's, and `effects`, in which a duplicate fails only at the commit. */
export async function prepare(client: TestStore): Promise<void> {
  await client.migrate();
  await client.query("drop table if exists effects", []);
  await client.query(
    "create table effects (name text, once text unique deferrable initially deferred)",
    [],
  );
  await client.query("truncate svc_webhooks.deliveries", []);
}

export const insert = "insert into effects (name) values ($1)";

/** Returns the committed names, in the order of their insertion. */
export async function effects(client: Pick<TestStore, "query">): Promise<readonly unknown[]> {
  return (await client.query("select name from effects", [])).map(({ name }) => name);
}

export const statesOf = async (client: Pick<TestStore, "query">): Promise<readonly unknown[]> =>
  (await client.query("select state::text from svc_webhooks.deliveries", [])).map(
    ({ state }) => state,
  );

/** Returns a receiver whose handler is `run`. */
export const receiverOver = (
  client: { readonly store: DeliveryStore },
  run: (context: DeliveryContext) => Promise<unknown>,
  options: Partial<ReceiverOptions> = {},
): ObservedReceiver =>
  observedReceiver({
    store: client.store,
    on: { "*": (_event, context) => run(context) },
    ...options,
  });

export const schemaFile: string = fileURLToPath(new URL("../schema.sql", import.meta.url));

const folders = "/usr/lib/postgresql";
const newest = existsSync(folders)
  ? readdirSync(folders).toSorted((a, b) => Number(b) - Number(a))[0]
  : undefined;
const psql = newest ? `${folders}/${newest}/bin/psql` : "psql";

/** Applies `schema.sql` with psql. */
export const applyFile = (connectionString: string): Promise<unknown> =>
  promisify(execFile)(psql, [connectionString, "-q", "-v", "ON_ERROR_STOP=1", "-f", schemaFile]);

/** A query of everything in a schema: columns, indexes, constraints, settings, functions, versions. */
export const contents = (schema: string): string => `
  select 'column' as kind, attname || ' ' || format_type(atttypid, atttypmod) || ' ' || attnotnull as what
    from pg_attribute where attrelid in (select oid from pg_class where relnamespace = '${schema}'::regnamespace) and attnum > 0
  union all select 'table', relname || ' ' || relkind::text || ' ' || coalesce(reloptions::text, '')
    from pg_class where relnamespace = '${schema}'::regnamespace
  union all select 'constraint', pg_get_constraintdef(oid) from pg_constraint where connamespace = '${schema}'::regnamespace
  union all select 'function', pg_get_functiondef(oid) from pg_proc where pronamespace = '${schema}'::regnamespace
  union all select 'version', version::text from ${schema}.versions
  order by 1, 2`;

/**
 * The statements that turn the schema into one of version 1, whose functions do not set their `search_path`.
 */
export const toVersion1 = `
  do $$ declare f regprocedure; begin
    for f in select oid from pg_proc where pronamespace = 'svc_webhooks'::regnamespace loop
      execute format('alter function %s reset search_path', f);
    end loop;
  end $$;
  update svc_webhooks.versions set version = 1`;
