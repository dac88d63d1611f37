import { createReceiver, type AnyEvent, type Handler } from "@svc-webhooks/core";
import { fromDrizzle, fromKysely, migrate, postgresStore } from "@svc-webhooks/postgres";
import { fixture } from "@svc-webhooks/testing";
import { crashReport, type CrashTestReport } from "@svc-webhooks/testing/crash-test";
import { sql } from "drizzle-orm";
import { drizzle } from "drizzle-orm/node-postgres";
import { pgTable, serial, text } from "drizzle-orm/pg-core";
import { CompiledQuery, Kysely, PostgresDialect, type Generated } from "kysely";
import type { Pool } from "pg";
import { describe, expect, test } from "vitest";

/*
 * Each handler is written with pg, Drizzle or Kysely on `world.pool`. The comments mark the lines that a report names.
 */

const silent = { info() {}, warn() {}, error() {} };

const orders = pgTable("orders", {
  id: serial("id").primaryKey(),
  emailId: text("email_id").notNull(),
});

interface Tables {
  readonly orders: { readonly id: Generated<number>; readonly email_id: string };
}

const kyselyOn = (pool: Pool) => new Kysely<Tables>({ dialect: new PostgresDialect({ pool }) });

const emailId = (event: AnyEvent): string =>
  (event as AnyEvent & { readonly data: { readonly email_id: string } }).data.email_id;

type Handle = Handler;

/** Runs a crash test of a handler on a pool. */
const reportOf = (
  handlerOn: (pool: Pool) => {
    readonly store?: ReturnType<typeof postgresStore>;
    readonly handle: Handle;
  },
): Promise<CrashTestReport> =>
  crashReport<Pool>({
    events: [fixture("email.delivered")],
    maxFaults: 1,
    faults: ["crash"],
    prepare: async ({ pool }) => {
      await migrate(pool);
      await pool.query("create table orders (id serial primary key, email_id text not null)");
    },
    receiver({ secret, clock, pool }) {
      const { handle, store = postgresStore(pool) } = handlerOn(pool);
      const options = { name: "query-builders", secret, clock, store, logger: silent };
      return createReceiver({ ...options, on: { "*": handle } });
    },
  });

const namesOf = ({ findings }: CrashTestReport) =>
  findings.map(({ kind, effect }) => `${kind} ${effect}`);

const insert = "insert into orders (email_id) values ($1)";

/** Returns the line of this file, as reports name it, that contains a mark. */
const lineOf = async (mark: string): Promise<string> => {
  const { readFile } = await import("node:fs/promises");
  const lines = (await readFile(new URL(import.meta.url), "utf8")).split("\n");
  const at = lines.findIndex((line) => line.endsWith(`// ${mark}`));
  return `test/crash-tests/query-builders.slow.ts:${at + 1}`;
};

describe("a row outside of `store.transaction` is found, with its line:", () => {
  test.each<{ readonly how: string; readonly on: (pool: Pool) => Handle }>([
    {
      how: "pg pool",
      on: (pool) => async (event) => {
        await pool.query(insert, [emailId(event)]); // pg pool
      },
    },
    {
      how: "pg object",
      on: (pool) => async (event) => {
        await pool.query({ name: "insert", text: insert, values: [emailId(event)] }); // pg object
      },
    },
    {
      how: "pg callback",
      on: (pool) => (event) =>
        new Promise<void>((resolve, reject) => {
          const done = (error: Error | undefined) => (error ? reject(error) : resolve());
          pool.query(insert, [emailId(event)], done); // pg callback
        }),
    },
    {
      how: "pg client",
      on: (pool) => async (event) => {
        const client = await pool.connect();
        let failure: Error | undefined;
        client.on("error", (error) => {
          failure = error;
        });
        try {
          await client.query("begin");
          await client.query(insert, [emailId(event)]); // pg client
          await client.query("commit");
        } finally {
          client.release(failure ?? true);
        }
      },
    },
    {
      how: "pg client callback",
      on: (pool) => (event) =>
        new Promise<void>((resolve, reject) => {
          pool.connect((failed, client, release) => {
            if (!client) {
              reject(failed);
              return;
            }
            const done = (error: Error | undefined) => {
              release(error);
              if (error) reject(error);
              else resolve();
            };
            client.query(insert, [emailId(event)], done); // pg client callback
          });
        }),
    },
    {
      how: "drizzle",
      on: (pool) => {
        const db = drizzle(pool);
        return async (event) => {
          await db.insert(orders).values({ emailId: emailId(event) }); // drizzle
        };
      },
    },
    {
      how: "drizzle transaction",
      on: (pool) => {
        const db = drizzle(pool);
        return (event) =>
          db.transaction(async (tx) => {
            await tx.insert(orders).values({ emailId: emailId(event) }); // drizzle transaction
          });
      },
    },
    {
      how: "kysely",
      on: (pool) => {
        const db = kyselyOn(pool);
        return async (event) => {
          const query = db.insertInto("orders").values({ email_id: emailId(event) });
          await query.execute(); // kysely
        };
      },
    },
    {
      how: "kysely transaction",
      on: (pool) => {
        const db = kyselyOn(pool);
        return (event) =>
          db.transaction().execute(async (tx) => {
            const query = tx.insertInto("orders").values({ email_id: emailId(event) });
            await query.execute(); // kysely transaction
          });
      },
    },
  ])("$how", async ({ how, on }) => {
    const report = await reportOf((pool) => ({ handle: on(pool) }));
    expect(namesOf(report)).toEqual(["duplicate orders"]);
    expect(report.findings[0]?.source).toBe(await lineOf(how));
    expect(report.findings[0]?.advice).toMatch(/^Write to `orders` inside `store\.transaction`/);
    expect(report.unseen).toEqual([]);
  });
});

describe("a row inside of `store.transaction` has no finding:", () => {
  test("pg", async () => {
    const report = await reportOf((pool) => {
      const store = postgresStore(pool);
      return {
        store,
        handle: (event, context) =>
          store.transaction(context, (tx) => tx.query(insert, [emailId(event)])),
      };
    });
    expect(namesOf(report)).toEqual([]);
  });

  test("Drizzle", async () => {
    const report = await reportOf((pool) => {
      const store = postgresStore(fromDrizzle(drizzle(pool), sql));
      return {
        store,
        handle: (event, context) =>
          store.transaction(context, (tx) => tx.insert(orders).values({ emailId: emailId(event) })),
      };
    });
    expect(namesOf(report)).toEqual([]);
  });

  test("Kysely", async () => {
    const report = await reportOf((pool) => {
      const store = postgresStore(fromKysely(kyselyOn(pool), CompiledQuery, pool));
      return {
        store,
        handle: (event, context) =>
          store.transaction(context, (tx) =>
            tx
              .insertInto("orders")
              .values({ email_id: emailId(event) })
              .execute(),
          ),
      };
    });
    expect(namesOf(report)).toEqual([]);
  });
});
