import { sqliteStore, TransactionLostError, type SqliteDatabase } from "@svc-webhooks/sqlite";
import { call, claimBy } from "@svc-webhooks/kit/receivers";
import { openSqlite } from "@svc-webhooks/kit/sqlite";
import { describe, expect, test } from "vitest";
import {
  claimed,
  effects,
  insert,
  key,
  keyOf,
  newDelivery,
  openStore,
  receiverOver,
  states,
} from "./support.js";

describe("a transaction", () => {
  test("commits the effects and the completion, and returns the result of work", async () => {
    const { db, store } = openStore();
    const results: unknown[] = [];
    const { receiveAll } = receiverOver(store, (context) => {
      const result = store.transaction(context, (tx) => {
        insert(tx, "a");
        return 1;
      });
      results.push(result);
    });
    const delivery = newDelivery();
    expect(await receiveAll(delivery, delivery)).toEqual(["processed", "duplicate"]);
    expect(results).toEqual([1]);
    expect([effects(db), states(db)]).toEqual([["a"], ["d"]]);
  });

  test("gives work the connection itself", async () => {
    const { db, store } = openStore();
    expect(store.transaction(await claimed(store), (tx) => tx === db)).toBe(true);
  });

  test("needs no further statement to complete the run, nor to release it", async () => {
    for (const end of ["complete", "release"] as const) {
      const { db, store } = openStore();
      store.transaction(await claimed(store), () => {});
      db.exec("drop table svc_webhooks_deliveries");
      expect(store.extend(key, claimBy("a"), call)).toBe(true);
      expect(store[end](key, { ...claimBy("a"), to: "failed" }, call)).toBe(
        end === "complete" ? "owner" : false,
      );
    }
  });

  test("keeps the record for its full retention", async () => {
    const { db, store } = openStore();
    const expiry = () => {
      const row = db.prepare("select expires_at from svc_webhooks_deliveries").get();
      return (row as { expires_at: number }).expires_at;
    };
    const { retainMs } = claimBy("a");
    const context = await claimed(store);
    // The claim was an hour ago.
    db.exec(
      "update svc_webhooks_deliveries set fence = fence - 3600000, expires_at = expires_at - 3600000",
    );
    store.transaction({ ...context, fence: (context.fence ?? 0) - 3_600_000 }, () => {});
    expect(expiry()).toBeGreaterThanOrEqual((context.fence ?? 0) + retainMs);
  });

  test("is rolled back if work throws, and runs again", async () => {
    const { db, store } = openStore();
    const { receiveAll } = receiverOver(store, (context) =>
      store.transaction(context, (tx) => {
        insert(tx, `run ${context.run}`);
        if (context.run === 1) throw new Error("inside");
      }),
    );
    const delivery = newDelivery();
    expect(await receiveAll(delivery, delivery)).toEqual(["handler_failed", "processed"]);
    expect(effects(db)).toEqual(["run 2"]);
  });

  test("stays committed if the handler throws after it", async () => {
    const { db, store } = openStore();
    const { receiveAll } = receiverOver(store, (context) => {
      store.transaction(context, (tx) => insert(tx, "a"));
      throw new Error("after");
    });
    const delivery = newDelivery();
    expect(await receiveAll(delivery, delivery)).toEqual(["handler_failed", "duplicate"]);
    expect(effects(db)).toEqual(["a"]);
  });

  test("is the only one of its run", async () => {
    const { db, store } = openStore();
    const { receiveAll, handlerErrors } = receiverOver(store, (context) => {
      for (const name of ["first", "second"]) {
        store.transaction(context, (tx) => insert(tx, name));
      }
    });
    const delivery = newDelivery();
    expect(await receiveAll(delivery, delivery)).toEqual(["handler_failed", "duplicate"]);
    expect(handlerErrors).toMatchObject([
      { code: "transaction_lost", message: expect.stringContaining("already completed") },
    ]);
    expect(effects(db)).toEqual(["first"]);
  });

  test("of a run that was overtaken does not call work, and the next attempt runs", async () => {
    const { file, db, store } = openStore();
    const other = openSqlite(file);
    const { receive, handlerErrors } = receiverOver(store, (context) => {
      if (context.run === 1) {
        other.exec("update svc_webhooks_deliveries set token = 'other', fence = fence + 1");
      }
      store.transaction(context, (tx) => insert(tx, `run ${context.run}`));
    });
    const delivery = newDelivery();
    expect(await receive(delivery)).toMatchObject({ status: 500, code: "handler_failed" });
    expect(handlerErrors).toEqual([expect.any(TransactionLostError)]);
    expect(effects(db)).toEqual([]);
    expect((await receive(delivery)).code).toBe("in_flight");
    other.exec("update svc_webhooks_deliveries set lease_ends_at = 0");
    expect((await receive(delivery)).code).toBe("processed");
    expect(effects(db)).toEqual(["run 2"]);
  });

  test("is rolled back if the database refuses its commit", async () => {
    const { db, store } = openStore();
    db.exec(`pragma foreign_keys = on; create table parents (id primary key);
      create table children (id references parents deferrable initially deferred)`);
    const context = await claimed(store);
    const run = () =>
      store.transaction(context, (tx) => {
        insert(tx, "a");
        tx.exec("insert into children values (1)");
      });
    expect(run).toThrow("FOREIGN KEY");
    expect([effects(db), states(db)]).toEqual([[], ["r"]]);
    expect(store.release(key, { ...claimBy("a"), to: "failed" }, call)).toBe(true);
  });

  test("lets work use savepoints, and statements that fail", async () => {
    const { db, store } = openStore();
    store.transaction(await claimed(store), (tx) => {
      insert(tx, "a");
      tx.exec("savepoint mine");
      insert(tx, "b");
      tx.exec("rollback to mine; release mine");
      expect(() => tx.exec("insert into absent values (1)")).toThrow("no such table");
    });
    expect([effects(db), states(db)]).toEqual([["a"], ["d"]]);
  });

  test("completes the run of a connection that returns integers as bigints", async () => {
    const { file } = openStore();
    const db = openSqlite(file, { readBigInts: true });
    const store = sqliteStore(db);
    const context = await claimed(store);
    expect(context.fence).toBeTypeOf("number");
    store.transaction(context, (tx) => insert(tx, "a"));
    expect([effects(db), store.purge(), store.check()]).toEqual([["a"], 0, []]);
  });
});

describe("the durability of a commit", () => {
  /** Returns a connection that records the value of `synchronous` at each commit. */
  function observed(db: SqliteDatabase, levels: unknown[]): SqliteDatabase {
    const level = () => Object.values(Object(db.prepare("pragma synchronous").get()) as object)[0];
    return {
      prepare: (sql) => db.prepare(sql),
      exec(sql) {
        if (sql === "COMMIT") levels.push(level());
        return db.exec(sql);
      },
    };
  }

  test.each([
    // The claim, the transaction, another claim, its renewal and its completion. 2 is FULL, 1 is NORMAL.
    { options: {}, expected: [1, 2, 1, 1, 2] },
    { options: { durableClaims: true }, expected: [2, 2, 2, 1, 2] },
    { options: { synchronous: "normal" as const }, expected: [1, 1, 1, 1, 1] },
  ])("with the options $options", async ({ options, expected }) => {
    const levels: unknown[] = [];
    const store = sqliteStore(observed(openStore().db, levels), options);
    store.transaction(await claimed(store), () => {});
    const of = keyOf(1);
    await claimed(store, { of });
    void store.extend(of, claimBy("a"), call);
    void store.complete(of, claimBy("a"), call);
    expect(levels).toEqual(expected);
  });
});
