import { clientKinds, pooledClientKinds, type TestStore } from "@svc-webhooks/kit/postgres-clients";
import {
  describeWithPgBouncer,
  describeWithPostgres,
  pgBouncer,
  type PgBouncer,
} from "@svc-webhooks/kit/postgres-server";
import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest";
import { claimed, effects, insert, keyOf, prepare, useServer } from "./support.js";

const pidOf = async ({ query }: TestStore) =>
  (await query("select pg_backend_pid() as pid", [])).map(({ pid }) => pid);

/** Claims a delivery, and completes it in a transaction. */
async function handle(client: TestStore, index: number): Promise<void> {
  const context = await claimed(client.store, { key: keyOf(index) });
  await client.store.transaction(context, (tx) =>
    client.queryIn(tx, insert, [context.idempotencyKey]),
  );
}

const postgresJsKinds = clientKinds.filter(({ name }) => name.includes("postgres.js"));

describeWithPgBouncer("PgBouncer that moves a client to another server connection", () => {
  const server = useServer();
  let bouncer: PgBouncer;
  beforeAll(async () => {
    bouncer = await pgBouncer(server());
  });
  afterAll(() => bouncer?.close());

  test.each(pooledClientKinds)("does not fail the store's statements: $name", async ({ open }) => {
    const [client, other] = [open(bouncer.connectionString), open(bouncer.connectionString)];
    onTestFinished(async () => {
      await client.close();
      await other.close();
    });
    await prepare(client);
    for (const index of [1, 2]) await handle(client, index);
    const before = await pidOf(client);
    const context = await claimed(other.store);
    await other.store.transaction(context, async (tx) => {
      // PgBouncer uses the server connection that became free last, so `other` now holds the client's.
      await other.queryIn(tx, "select 1");
      expect(await pidOf(client)).not.toEqual(before);
      await handle(client, 3);
    });
    expect(await effects(client)).toEqual([1, 2, 3].map(keyOf));
  });
});

describeWithPostgres("without a pooler", () => {
  const server = useServer();

  test.each(postgresJsKinds)("the server keeps statements: $name", async ({ open }) => {
    const client = open(server().connectionString);
    onTestFinished(() => client.close());
    await prepare(client);
    for (const index of [1, 2]) await handle(client, index);
    const kept = await client.query("select statement from pg_prepared_statements", []);
    expect(kept.map(({ statement }) => statement)).toContainEqual(
      expect.stringMatching(/^select "svc_webhooks"\.claim_1\([^)]*\) as reply$/),
    );
  });
});
