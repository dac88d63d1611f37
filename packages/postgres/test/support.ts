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

/** A server for the tests of a `describe`. */
export function useServer(settings?: Readonly<Record<string, string>>): () => PostgresServer {
  let server: PostgresServer;
  beforeAll(async () => (server = await postgresServer(settings)), 60_000);
  afterAll(() => server?.close());
  return () => server;
}

/** A key of a record, as receivers make them. */
export const keyOf = (index: number): string => index.toString(16).padStart(32, "0");

export const key: string = keyOf(0);

interface Claim {
  readonly key?: string;
  readonly token?: string;
  readonly leaseMs?: number;
}

/** Claims a record, and resolves to the context of the handler that runs then. */
export async function claimed(
  store: DeliveryStore,
  { key: ofRecord = key, token = "a", leaseMs = 30_000 }: Claim = {},
): Promise<RunIdentity> {
  const result = await store.claim(ofRecord, { ...claimBy(token), leaseMs }, call);
  if (result.status !== "claimed") throw new Error(`The record is ${result.status}.`);
  return { idempotencyKey: ofRecord, fence: result.fence };
}

let deliveryCount = 0;

/** A delivery with an id of its own. */
export const newDelivery = () => {
  deliveryCount += 1;
  return signed(undefined, { "x-svc-delivery-id": `dlv_${deliveryCount}` });
};

/** Empty tables: that of the store, and `effects`, in which a duplicate fails only at the commit. */
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

/** The names that were committed, in the order of their insertion. */
export async function effects(client: Pick<TestStore, "query">): Promise<readonly unknown[]> {
  return (await client.query("select name from effects", [])).map(({ name }) => name);
}

export const statesOf = async (client: Pick<TestStore, "query">): Promise<readonly unknown[]> =>
  (await client.query("select state::text from svc_webhooks.deliveries", [])).map(
    ({ state }) => state,
  );

/** A receiver whose handler is `run`. */
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
