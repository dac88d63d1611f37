import { describeWithPostgres } from "@svc-webhooks/kit/postgres-server";
import { call, claimBy } from "@svc-webhooks/kit/receivers";
import {
  closableSockets,
  fromDrizzle,
  fromKysely,
  migrate,
  postgresStore,
  type PostgresStore,
} from "@svc-webhooks/postgres";
import { sql as drizzleSql } from "drizzle-orm";
import { drizzle } from "drizzle-orm/postgres-js";
import { CompiledQuery, Kysely, ParseJSONResultsPlugin, PostgresDialect } from "kysely";
import { Pool } from "pg";
import postgres from "postgres";
import { describe, expect, onTestFinished, test } from "vitest";
import { key, newDelivery, receiverOver, useServer } from "./support.js";

type Transform = NonNullable<postgres.Options<Record<string, never>>["transform"]>;

/** Parses each text that is JSON, as some applications do for columns of JSON. */
const parsed = (value: unknown): unknown => {
  try {
    return JSON.parse(String(value));
  } catch {
    return value;
  }
};

/** Changes of texts from which the store cannot read a reply. */
const changes: Readonly<Record<string, (value: string) => unknown>> = {
  "a constant": () => "X",
  "upper case": (value) => value.toUpperCase(),
  "an object that begins with its type": (value) => ({ type: 25, value }),
  "an object without properties": (value) => () => value,
  buffers: (value) => Buffer.from(value),
  dates: (value) => new Date(value),
};

const transforms: Readonly<Record<string, Transform>> = {
  "postgres.camel": postgres.camel,
  "postgres.kebab": postgres.kebab,
  "postgres.pascal": postgres.pascal,
  "column.from": { column: { from: (name) => name.toUpperCase() } },
  "value.from": { value: { from: (value: unknown) => ({ value }) } },
  "value.from that parses JSON": { value: { from: parsed } },
  "row.from": { row: { from: (row: unknown) => ({ row }) } },
};

describeWithPostgres("the store works whatever the application's client does to replies", () => {
  const server = useServer();

  const sqlWith = (transform: Transform) => {
    const sql = postgres(server().connectionString, {
      ...closableSockets,
      fetch_types: false,
      max: 2,
      onnotice: () => {},
      transform,
    });
    onTestFinished(() => sql.end({ timeout: 5 }));
    return sql;
  };

  const poolWith = (options: ConstructorParameters<typeof Pool>[0] = {}) => {
    const { connectionString } = server();
    const pool = new Pool({ connectionString, max: 2, connectionTimeoutMillis: 5_000, ...options });
    onTestFinished(() => pool.end());
    return pool;
  };

  const works = {
    changed: false,
    problems: [],
    codes: ["processed", "duplicate"],
    states: ["done"],
  };

  /** Migrates, checks, and sends a delivery twice. */
  async function trial<Tx>(
    db: Parameters<typeof migrate>[0],
    store: PostgresStore<Tx>,
    work: (tx: Tx) => PromiseLike<unknown>,
  ): Promise<unknown> {
    await migrate(db);
    const changed = await migrate(db);
    const problems = await store.check();
    const { receiver } = receiverOver({ store }, (context) =>
      store.transaction(context, async (tx) => void (await work(tx))),
    );
    const delivery = await newDelivery();
    const send = async () => (await receiver.receive(delivery)).code;
    return {
      changed,
      problems: problems.filter((problem) => !/^fsync is off|^Kysely/.test(problem)),
      codes: [await send(), await send()],
      states: await receiver.peek([{ deliveryId: String(delivery.headers["x-svc-delivery-id"]) }]),
    };
  }

  describe.each(Object.entries(transforms))("with %s of postgres.js", (_, transform) => {
    test("directly", async () => {
      const sql = sqlWith(transform);
      expect(await trial(sql, postgresStore(sql), (tx) => tx`select 1`)).toEqual(works);
      // There is no pooler, so statements may have names.
      expect(sql.options.prepare).toBe(true);
    });

    test("through Drizzle", async () => {
      const db = fromDrizzle(drizzle(sqlWith(transform)), drizzleSql);
      expect(await trial(db, postgresStore(db), (tx) => tx.execute(drizzleSql`select 1`))).toEqual(
        works,
      );
    });
  });

  test.each(Object.entries(changes))(
    "each call refuses a reply that was changed to %s, and the error names the setting",
    async (_, change) => {
      await migrate(poolWith());
      const byValue = sqlWith({ value: { from: (value: unknown) => change(String(value)) } });
      const byType = poolWith({ types: { getTypeParser: () => change as never } });
      for (const db of [byValue, byType]) {
        const store = postgresStore(db as typeof byType);
        const refused = (name: string) =>
          expect.objectContaining({
            message: expect.stringMatching(
              `unexpected reply to ${name}: ".*". If the client transforms values,`,
            ) as string,
          }) as Error;
        await expect(store.claim(key, claimBy("a"), call)).rejects.toEqual(refused("a claim"));
        await expect(store.peek?.([key], call)).rejects.toEqual(refused("a peek"));
        await expect(migrate(db as typeof byType)).rejects.toEqual(refused("a check"));
        await expect(store.check()).rejects.toEqual(refused("a check"));
      }
    },
  );

  test.each<[string, (value: string) => unknown]>([
    ["objects", (value) => ({ value })],
    ["parsed JSON", parsed],
    ["instances of String", (value) => Object(value)],
  ])("with type parsers of pg that return %s", async (_, parse) => {
    const types = { getTypeParser: () => parse };
    const pool = poolWith({ types });
    expect(await trial(pool, postgresStore(pool), (tx) => tx.query("select 1"))).toEqual(works);
  });

  test("with Kysely's ParseJSONResultsPlugin", async () => {
    const dialect = new PostgresDialect({ pool: poolWith() });
    const kysely = new Kysely<object>({ dialect, plugins: [new ParseJSONResultsPlugin()] });
    const db = fromKysely(kysely, CompiledQuery);
    expect(
      await trial(db, postgresStore(db), (tx) => tx.executeQuery(CompiledQuery.raw("select 1"))),
    ).toEqual(works);
  });
});
