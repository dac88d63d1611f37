import { PGlite } from "@electric-sql/pglite";
import { postgresServer, postgresVersion } from "@svc-webhooks/kit/postgres-server";
import runFolder from "@svc-webhooks/kit/run-folder";
import { fromPglite, migrate, postgresStore, type PostgresStore } from "@svc-webhooks/postgres";
import { Pool, type PoolClient } from "pg";
import postgres from "postgres";
import { postgresClaims, postgresTable } from "../hand-written.js";
import type { Bar, Race } from "../race.js";
import type { RunSection } from "../sections.js";
import { call, nameOf, newKey, ours, request, speedRace, token } from "../store-calls.js";

export const run: RunSection = async (quick) => {
  if (!postgresVersion()) {
    throw new Error("Install PostgreSQL, or name the sections that do not need it.");
  }
  const removeFolder = runFolder();
  // Keeps the server's default settings, so that commits wait for the disk.
  const server = await postgresServer({});
  // Stops the server even after an uncaught error.
  process.once("exit", () => void server.crash());
  try {
    return { title: "Postgres", races: await races(server.connectionString, quick) };
  } finally {
    await server.close();
    removeFolder();
  }
};

/** The fixtures that the races share. */
interface Track {
  readonly pool: Pool;
  readonly store: PostgresStore<PoolClient>;
  /** A store with the option `prepare`. */
  readonly preparing: PostgresStore<PoolClient>;
  readonly quick: boolean;
}

async function races(connectionString: string, quick: boolean): Promise<Race[]> {
  const pool = new Pool({ connectionString, max: 8, connectionTimeoutMillis: 5_000 });
  try {
    await migrate(pool);
    await pool.query(postgresTable);
    await pool.query("create table effects (id bigint generated always as identity, key text)");
    const preparing = postgresStore(pool, { prepare: true });
    const track = { pool, store: postgresStore(pool), preparing, quick };
    const [few, many] = quick ? [10, 1_000] : [1_000, 100_000];
    return [
      await duplicateRace(track, 1),
      await duplicateRace(track, 8),
      await insertRace(track, 1, { atLeast: 0.35, aim: 0.45 }),
      await insertRace(track, 8, { atLeast: 0.27, aim: 0.4 }),
      await completionRace(track, 1),
      await completionRace(track, 8),
      await clientRace(track, connectionString),
      await bytesRace(track, many),
      await sizeRace(track, few, many),
    ];
  } finally {
    await pool.end();
  }
}

const titleOf = (title: string, connections: number) =>
  `Postgres, ${title}, ${connections === 1 ? "one connection" : `${connections} connections`}`;

async function duplicateRace({ pool, store, quick }: Track, connections: number): Promise<Race> {
  const claims = postgresClaims(pool);
  const known = newKey();
  await handle(store, known);
  await claims.claim(known, token);
  await claims.complete(known);
  const contenders = {
    "select by key": () => pool.query("select done from webhooks where id = $1", [known]),
    [ours]: () => claimDone(store, known),
  };
  const limit =
    "A claim calls a function on the server that also compares the times in the record.";
  const bar = { lane: ours, atLeast: 0.55, aim: 0.8, limit };
  return speedRace(titleOf("duplicate", connections), connections, quick, contenders, bar);
}

function insertRace(
  { pool, store, preparing, quick }: Track,
  connections: number,
  bar: Pick<Bar, "atLeast" | "aim">,
): Promise<Race> {
  const prepared = `${ours}, prepare`;
  const contenders = {
    "bare transaction": () => inTransaction(pool, (tx) => takeEffect(tx, newKey())),
    "with the key in a table": () => {
      const key = newKey();
      return inTransaction(pool, async (tx) => {
        await tx.query("insert into webhooks (id, token) values ($1, $2)", [key, token]);
        await takeEffect(tx, key);
      });
    },
    [ours]: () => insertBy(store),
    [prepared]: () => insertBy(preparing),
  };
  const limit =
    "The claim is committed separately before the transaction, and the completion adds a statement to the transaction.";
  return speedRace(
    titleOf("one insert", connections),
    connections,
    quick,
    contenders,
    { lane: ours, limit, ...bar },
    // The statements call functions, whose plans PostgreSQL keeps, and only the claim has a message of its own.
    {
      lane: prepared,
      against: ours,
      atLeast: 1,
      aim: 1.1,
      limit:
        "PostgreSQL keeps the plans of the functions that the statements call, so names save little.",
    },
  );
}

function completionRace({ pool, store, quick }: Track, connections: number): Promise<Race> {
  const claims = postgresClaims(pool);
  const durableStore = postgresStore(pool, { durableClaims: true });
  return speedRace(titleOf("claim + complete", connections), connections, quick, {
    "hand-written": async () => {
      const key = newKey();
      await claims.claim(key, token);
      await claims.complete(key);
    },
    [ours]: () => handle(store, newKey()),
    [`${ours}, durableClaims`]: () => handle(durableStore, newKey()),
  });
}

async function clientRace({ store, quick }: Track, connectionString: string): Promise<Race> {
  const sql = postgres(connectionString, { max: 1, onnotice: () => {} });
  const pglite = fromPglite(new PGlite());
  await migrate(pglite);
  const overSql = postgresStore(sql);
  const overPglite = postgresStore(pglite);
  try {
    return await speedRace(titleOf("claim + complete by client", 1), 1, quick, {
      pg: () => handle(store, newKey()),
      "postgres.js": () => handle(overSql, newKey()),
      "PGlite in memory": () => handle(overPglite, newKey()),
    });
  } finally {
    await sql.end();
  }
}

/** Measures the bytes per record in the table and its indexes, before a vacuum. */
async function bytesRace({ pool, store }: Track, records: number): Promise<Race> {
  const table = "svc_webhooks.deliveries";
  await pool.query(`truncate ${table}`);
  await pool.query(`alter table ${table} set (autovacuum_enabled = off)`);
  await fill(store, records);
  const { rows } = await pool.query<{ bytes: string }>(
    `select pg_total_relation_size('${table}') as bytes`,
  );
  await pool.query(`alter table ${table} reset (autovacuum_enabled)`);
  const lane = nameOf(records);
  const lanes = [{ name: lane, values: [Number(rows[0]?.bytes) / records] }];
  const bars = [{ lane, atMost: 230, aim: 150 }];
  return { title: "Postgres, bytes per done record", unit: "B", lanes, bars };
}

/**
 * Compares the speed with few records and with many. The table still contains the many records of the previous race.
 */
async function sizeRace({ pool, store, quick }: Track, few: number, many: number): Promise<Race> {
  const schema = "few";
  await migrate(pool, { schema });
  const fewStore = postgresStore(pool, { schema });
  await fill(fewStore, few);
  await pool.query("vacuum analyze");
  const contenders = {
    [nameOf(few)]: () => comeAndGo(fewStore),
    [nameOf(many)]: () => comeAndGo(store),
  };
  const bar = { lane: nameOf(many), atLeast: 0.8, aim: 0.95 };
  return speedRace(titleOf("claim + complete + forget", 1), 1, quick, contenders, bar);
}

// The functions below assert that each call has the expected result, because a rejected call would take less time.

async function claim<Tx>(store: PostgresStore<Tx>, key: string): Promise<number> {
  const result = await store.claim(key, request, call);
  if (result.status !== "claimed") throw new Error(`A new key is ${result.status}.`);
  return result.fence ?? NaN;
}

async function claimDone<Tx>(store: PostgresStore<Tx>, key: string): Promise<void> {
  const { status } = await store.claim(key, request, call);
  if (status !== "done") throw new Error(`A completed key is ${status}.`);
}

async function handle<Tx>(store: PostgresStore<Tx>, key: string): Promise<void> {
  await claim(store, key);
  const result = await store.complete(key, request, call);
  if (result !== "owner") throw new Error(`A claimed key was completed as ${result}.`);
}

/** Claims a delivery, and completes it in the transaction of its effect. */
async function insertBy(store: PostgresStore<PoolClient>): Promise<void> {
  const key = newKey();
  const fence = await claim(store, key);
  await store.transaction({ idempotencyKey: key, fence }, (tx) => takeEffect(tx, key));
}

const takeEffect = (tx: PoolClient, key: string) =>
  tx.query("insert into effects (key) values ($1)", [key]);

/** Runs `work` in a transaction, written as a user would write one. */
async function inTransaction(
  pool: Pool,
  work: (tx: PoolClient) => Promise<unknown>,
): Promise<void> {
  const tx = await pool.connect();
  try {
    await tx.query("begin");
    await work(tx);
    await tx.query("commit");
  } catch (error) {
    await tx.query("rollback");
    throw error;
  } finally {
    tx.release();
  }
}

async function fill<Tx>(store: PostgresStore<Tx>, records: number): Promise<void> {
  let missing = records;
  const worker = async () => {
    while (missing-- > 0) await handle(store, newKey());
  };
  await Promise.all(Array.from({ length: 8 }, worker));
}

/** Handles a delivery and then forgets its record, so that the store's size stays the same. */
async function comeAndGo<Tx>(store: PostgresStore<Tx>): Promise<void> {
  const key = newKey();
  await handle(store, key);
  if (!(await store.forget(key, call))) throw new Error("A completed key was not forgotten.");
}
