import { kindsOf } from "@svc-webhooks/kit/kinds";
import { sized } from "@svc-webhooks/kit/sized";
import { storeContract } from "@svc-webhooks/testing/store";
import { afterAll, beforeAll, describe, it } from "vitest";
import {
  age,
  clientKinds,
  pg,
  pglite,
  pooledClientKinds,
  preparingKinds,
  type TestStore,
} from "@svc-webhooks/kit/postgres-clients";
import {
  describeWithPgBouncer,
  describeWithPostgres,
  pgBouncer,
  postgresServer,
  serverVariable,
  type PgBouncer,
  type PostgresServer,
} from "@svc-webhooks/kit/postgres-server";

/** Registers the contract for one client, which is opened before the first case. */
function contractOver(name: string, open: () => TestStore | Promise<TestStore>): void {
  describe("the Postgres store", () => {
    let client: TestStore;
    beforeAll(async () => {
      client = await open();
      await client.migrate();
    });
    afterAll(() => client?.close());

    const makeStore = async () => {
      await client.query("truncate svc_webhooks.deliveries", []);
      return { store: client.store, advance: (ms: number) => client.query(age, [String(ms)]) };
    };
    storeContract({ describe, it }, `over ${name}`, makeStore, {
      modelRuns: sized(10, 200),
    });
  });
}

// On the server of another version, only what depends on the version runs again: PGlite is a PostgreSQL by itself,
// PgBouncer is the same, and one client that prepares statements shows that the server plans them.
const isAgain = process.env[serverVariable] !== undefined;
const inProcess = isAgain ? [] : [pglite];
for (const kind of kindsOf(inProcess, inProcess)) contractOver(kind.name, () => kind.open());

describeWithPostgres("on a server", () => {
  let server: PostgresServer;
  beforeAll(async () => (server = await postgresServer()));
  afterAll(() => server?.close());
  const some = [pg, ...(isAgain ? preparingKinds.slice(0, 1) : preparingKinds)];
  for (const { name, open } of kindsOf(some, [...clientKinds, ...preparingKinds])) {
    contractOver(name, () => open(server.connectionString));
  }
});

// `pooler.test.ts` and `isolation.slow.ts` run the other kinds through PgBouncer.
const others = sized(pooledClientKinds.slice(0, 2), pooledClientKinds);
const pooled = kindsOf(isAgain ? [] : [pg], [...others, ...preparingKinds]);
const describePooled = pooled.length > 0 ? describeWithPgBouncer : () => {};

describePooled("through PgBouncer in transaction mode", () => {
  let server: PostgresServer;
  let bouncer: PgBouncer;
  beforeAll(async () => {
    server = await postgresServer();
    bouncer = await pgBouncer(server);
  });
  afterAll(async () => {
    await bouncer?.close();
    await server?.close();
  });
  for (const { name, open } of pooled) {
    contractOver(name, () => open(bouncer.connectionString));
  }
});
