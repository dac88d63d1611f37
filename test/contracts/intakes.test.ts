import { memoryStore } from "@svc-webhooks/core";
import { intakeContract, type IntakeWorld } from "@svc-webhooks/kit/intake-rows";
import { oneRedis } from "@svc-webhooks/kit/one-redis";
import { age as agePostgres, pg, type TestStore } from "@svc-webhooks/kit/postgres-clients";
import {
  describeWithPostgres,
  postgresServer,
  type PostgresServer,
} from "@svc-webhooks/kit/postgres-server";
import { describeWithRedis } from "@svc-webhooks/kit/redis-server";
import { age as ageSqlite, openSqlite } from "@svc-webhooks/kit/sqlite";
import { redisStore } from "@svc-webhooks/redis";
import { migrate, sqliteStore } from "@svc-webhooks/sqlite";
import type { Redis } from "ioredis";
import { afterAll, beforeAll, expect, test } from "vitest";
import { checkCrashedList, type ListWorld } from "./crashed-list.js";
import { age as ageRedis } from "./redis-contract.js";

intakeContract("memory", () => {
  let ahead = 0;
  const monotonic = () => performance.now() + ahead;
  const store = memoryStore({ clock: { now: Date.now, monotonic, after: () => () => {} } });
  return { store, advance: (ms) => void (ahead += ms) };
});

intakeContract("SQLite", () => {
  const db = openSqlite();
  const store = sqliteStore(db, { synchronous: "normal" });
  migrate(db);
  return { store, advance: (ms) => db.prepare(ageSqlite).run(ms) };
});

test("each effect of a list is applied once if its process crashes at any item", async () => {
  const db = openSqlite();
  const store = sqliteStore(db, { synchronous: "normal" });
  migrate(db);
  db.exec("create table effects (name text)");
  const insert = db.prepare("insert into effects values (?)");
  const names = () => db.prepare("select name from effects").all() as { name: string }[];
  const world: ListWorld = {
    store,
    advance: (ms) => db.prepare(ageSqlite).run(ms),
    apply: (context, effect) => store.transaction(context, () => void insert.run(effect)),
    effects: async () => names().map(({ name }) => name),
  };
  for (let seed = 0; seed < 20; seed += 1) await checkCrashedList(world, seed, 25);
  expect(names()).toHaveLength(20 * 25);
});

describeWithRedis("with a Redis server", () => {
  let redis: Redis;
  oneRedis((client) => (redis = client));
  intakeContract("Redis", () => ({
    store: redisStore(redis),
    advance: (ms) => redis.eval(ageRedis, 0, ms),
  }));
});

describeWithPostgres("with a PostgreSQL server", () => {
  let server: PostgresServer;
  let client: TestStore;
  beforeAll(async () => {
    server = await postgresServer();
    client = pg.open(server.connectionString);
    await client.migrate();
  });
  afterAll(async () => {
    await client?.close();
    await server?.close();
  });
  intakeContract("PostgreSQL", (): IntakeWorld => ({
    store: client.store,
    advance: (ms) => client.query(agePostgres, [String(ms)]),
  }));
});
