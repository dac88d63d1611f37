import { once } from "node:events";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import type { Receiver } from "@svc-webhooks/core";
import { migrate } from "@svc-webhooks/postgres";
import { signedDelivery } from "@svc-webhooks/testing";
import { Pool, type PoolClient } from "pg";
import { afterAll, beforeAll, beforeEach, expect, test, vi } from "vitest";
import {
  describeWithPostgres,
  postgresServer,
  type PostgresServer,
} from "@svc-webhooks/kit/postgres-server";
import { root, run, startModule } from "@svc-webhooks/kit/programs";
import { age, openSqlite, sqliteFile } from "@svc-webhooks/kit/sqlite";
import * as sqlite from "@svc-webhooks/sqlite";
import { codeBlocks, compileBlocks } from "./readme.js";

const secret = "whsec_test";

const blocks = ["docs/recipes.md", "docs/stores.md"]
  .flatMap(codeBlocks)
  .filter(({ code }) => /^export const \w+ = /m.test(code));
const { modulePath } = await compileBlocks(blocks);

/** Returns the address of the module of the recipe that exports this name. */
function recipe(name: string): string {
  const block = blocks.find(({ code }) => code.includes(`export const ${name} = `));
  if (!block) throw new Error(`A page must have the recipe ${name}.`);
  return pathToFileURL(modulePath(block)).href;
}

/**
 * The program runs the recipe on Bun's built-in SQLite, where its statements mean the same as in Postgres. One
 * connection replaces the pool, so transactions do not overlap.
 */
const program = `
  import { Database } from "bun:sqlite";
  import { signedDelivery } from "@svc-webhooks/testing";
  process.env.SVC_WEBHOOK_SECRET = "whsec_test";
  const { once, receiverOn } = await import(${JSON.stringify(recipe("receiverOn"))});

  const database = new Database(":memory:");
  database.run("CREATE TABLE handled_events (key text PRIMARY KEY)");
  database.run("CREATE TABLE delivered (delivery_id text)");
  const client = {
    query: async (text, values = []) => ({ rowCount: database.prepare(text).run(...values).changes }),
    release: () => {},
  };
  const pool = { connect: async () => client };
  const rows = () => database.prepare("SELECT delivery_id FROM delivered").all().length;
  const insert = () => client.query("INSERT INTO delivered (delivery_id) VALUES ($1)", ["dlv_0"]);
  const seen = {};

  const failed = once(pool, "key", async () => {
    await insert();
    throw new Error("after a write");
  });
  seen.error = await failed.catch(({ message }) => message);
  seen.rowsAfterFailure = rows();
  await once(pool, "key", insert);
  await once(pool, "key", insert);
  seen.rowsAfterTwoMore = rows();

  // The two receivers share no record, as after a crash before the completion.
  const delivery = await signedDelivery({ type: "email.delivered" });
  const outcomes = [];
  for (const receiver of [receiverOn(pool), receiverOn(pool)]) {
    outcomes.push((await receiver.receive(delivery)).code);
  }
  seen.outcomes = outcomes;
  seen.rowsAfterTwoRuns = rows();
  console.log(JSON.stringify(seen));
`;

test("work in the recipe's transaction is committed once, and again only after a rollback", async () => {
  const bun = join(root, "node_modules/.bin/bun");
  const { stdout, stderr } = await run(bun, ["--eval", program], { cwd: root });
  expect(stderr).toBe("");
  expect(JSON.parse(stdout)).toEqual({
    error: "after a write",
    rowsAfterFailure: 0,
    rowsAfterTwoMore: 1,
    outcomes: ["processed", "processed"],
    rowsAfterTwoRuns: 2,
  });
});

test("a kill between two rows in SQLite loses and repeats neither", async () => {
  const file = sqliteFile();
  const db = openSqlite(file);
  sqlite.migrate(db);
  db.exec(`
    create table delivered (delivery_id text);
    create table totals (delivered int not null);
    insert into totals values (0)`);
  const rows = () =>
    db.prepare("select delivered, (select count(*) from delivered) as rows from totals").get();
  const { exitCode, signalCode } = await exitOf(`
    import { DatabaseSync } from "@photostructure/sqlite";
    import { signedDelivery } from "@svc-webhooks/testing";
    process.env.SVC_WEBHOOK_SECRET = "${secret}";
    const { severalRowsInSqlite } = await import(${JSON.stringify(recipe("severalRowsInSqlite"))});
    const db = new DatabaseSync(${JSON.stringify(file)});
    const receiver = severalRowsInSqlite({
      exec: (sql) => db.exec(sql),
      prepare(sql) {
        if (sql.startsWith("UPDATE totals")) process.kill(process.pid, "SIGKILL");
        return db.prepare(sql);
      },
    });
    const options = { secret: "${secret}", deliveryId: "dlv_1" };
    await receiver.receive(await signedDelivery({ type: "email.delivered" }, options));`);
  expect({ exitCode, signalCode }).toEqual({ exitCode: null, signalCode: "SIGKILL" });
  expect(rows()).toEqual({ delivered: 0, rows: 0 });

  vi.stubEnv("SVC_WEBHOOK_SECRET", secret);
  vi.spyOn(console, "warn").mockReturnValue();
  const { severalRowsInSqlite } = (await import(recipe("severalRowsInSqlite"))) as {
    readonly severalRowsInSqlite: (db: sqlite.SqliteDatabase) => Receiver;
  };
  const receiver = severalRowsInSqlite(db);
  const delivery = await signedDelivery(
    { type: "email.delivered" },
    { secret, deliveryId: "dlv_1" },
  );
  const codes = [(await receiver.receive(delivery)).code];
  // The lease of the dead process ends.
  db.prepare(age).run(30_000);
  for (const _ of [1, 2]) codes.push((await receiver.receive(delivery)).code);
  expect(codes).toEqual(["in_flight", "processed", "duplicate"]);
  expect(rows()).toEqual({ delivered: 1, rows: 1 });
  vi.restoreAllMocks();
  vi.unstubAllEnvs();
});

/** Runs the source of a module, and resolves to how its process has exited. */
async function exitOf(source: string) {
  const child = startModule(source);
  await once(child, "exit");
  return child;
}

describeWithPostgres("on PostgreSQL", () => {
  let server: PostgresServer;
  let pool: Pool;
  beforeAll(async () => {
    vi.stubEnv("SVC_WEBHOOK_SECRET", secret);
    server = await postgresServer();
    pool = new Pool({ connectionString: server.connectionString, connectionTimeoutMillis: 1_000 });
    await migrate(pool);
    await pool.query(`
      create table delivered (delivery_id text);
      create table emails (id text primary key, status text not null)`);
  });
  beforeEach(() => pool.query("truncate delivered, emails, svc_webhooks.deliveries"));
  afterAll(async () => {
    vi.unstubAllGlobals();
    await pool?.end();
    await server?.close();
  });

  const codeOf = async (receiver: Receiver, type: string) => {
    const delivery = await signedDelivery({ type, data: { email_id: "msg_1" } }, { secret });
    return (await receiver.receive(delivery)).code;
  };
  const rows = async (table: string) => (await pool.query(`select from ${table}`)).rowCount;

  /** Returns `neon` over a pool: a statement is sent when it is awaited, or in a batch. */
  const neonOver = (clients: Pool) => {
    const query = (text: string, values: unknown[]) => ({
      on: async (client: Pool | PoolClient) => (await client.query(text, values)).rows as unknown,
      // oxlint-disable-next-line unicorn/no-thenable -- as Neon's statements are
      then(resolve: (rows: unknown) => unknown, reject: (error: unknown) => unknown) {
        return this.on(clients).then(resolve, reject);
      },
    });
    const transaction = async (statements: readonly ReturnType<typeof query>[]) => {
      const client = await clients.connect();
      await client.query("begin");
      try {
        for (const { on } of statements) await on(client);
        await client.query("commit");
      } finally {
        client.release(true);
      }
    };
    return { query, transaction };
  };

  const create = async (name: string, client: unknown) => {
    const recipes = (await import(recipe(name))) as Record<string, (client: unknown) => Receiver>;
    const receiver = recipes[name]?.(client);
    if (!receiver) throw new Error(`The recipe ${name} must export a function.`);
    return receiver;
  };

  test.each([
    ["finishing", (clients: Pool) => clients],
    ["receiverOnNeon", neonOver],
  ] as const)(
    "the recipe %s commits an effect with the completion, or not at all",
    async (name, over) => {
      const receiver = await create(name, over(pool));
      expect(await codeOf(receiver, "email.delivered")).toBe("processed");
      expect(await rows("delivered")).toBe(1);

      // Another process takes the delivery over as soon as its effect is written.
      await pool.query(`
        create function take_over() returns trigger language plpgsql as
          'begin update svc_webhooks.deliveries set fence = fence + 1 where state = ''r''; return new; end';
        create trigger taken after insert on delivered execute function take_over()`);
      const error = vi.spyOn(console, "error").mockReturnValue();
      expect(await codeOf(receiver, "email.delivered")).toBe("handler_failed");
      error.mockRestore();
      expect(await rows("delivered")).toBe(1);
      await pool.query("drop function take_over cascade");
    },
  );

  test("the recipe in order ignores the older of two events", async () => {
    const receiver = await create("inOrder", pool);
    await pool.query("insert into emails values ('msg_1', 'queued')");
    for (const [type, status] of [
      ["email.delivered", "delivered"],
      ["email.sent", "delivered"],
    ] as const) {
      expect(await codeOf(receiver, type)).toBe("processed");
      expect((await pool.query("select status from emails")).rows).toEqual([{ status }]);
    }
  });
});
