import { call, claimBy, observedReceiver } from "@svc-webhooks/kit/receivers";
import { openSqlite } from "@svc-webhooks/kit/sqlite";
import { until } from "@svc-webhooks/kit/until";
import { sqliteStore } from "@svc-webhooks/sqlite";
import { describe, expect, test } from "vitest";
import { claimed, effects, insert, key, keyOf, openStore } from "./support.js";

/** Opens a store, and a second connection that holds the write lock. */
function locked() {
  const opened = openStore({ busyTimeoutMs: 0 });
  const other = openSqlite(opened.file);
  other.exec("begin immediate");
  return { ...opened, other };
}

const aborted = (): AbortSignal => AbortSignal.abort();

describe("while another connection writes", () => {
  test("a claim waits without blocking the process, and then succeeds", async () => {
    const { store, other } = locked();
    const claim = Promise.resolve(store.claim(key, claimBy("a"), call));
    let turns = 0;
    await until(() => (turns += 1) > 10, "the event loop turns");
    other.exec("commit");
    expect(await claim).toMatchObject({ status: "claimed", run: 1 });
  });

  test("of 100 claims that wait, each is granted, and one attempt is made at a time", async () => {
    const { db, other } = locked();
    let attempts = 0;
    const store = sqliteStore({
      prepare: (sql) => db.prepare(sql),
      exec(sql) {
        if (sql.includes("BEGIN")) attempts += 1;
        db.exec(sql);
      },
    });
    const claims = Array.from({ length: 100 }, (_, index) => claimed(store, { of: keyOf(index) }));
    await until(() => attempts >= 5, "the calls try again");
    expect(attempts).toBeLessThan(20);
    other.exec("commit");
    expect(
      new Set((await Promise.all(claims)).map(({ idempotencyKey }) => idempotencyKey)).size,
    ).toBe(100);
  });

  test("a claim whose deadline has passed rejects with not_sent", async () => {
    const { store, other } = locked();
    const claim = store.claim(key, claimBy("a"), { signal: aborted() });
    await expect(claim).rejects.toMatchObject({ code: "not_sent" });
    other.exec("commit");
    expect(store.claim(key, claimBy("b"), call)).toMatchObject({ status: "claimed", run: 1 });
  });

  test("the log states why an event was refused", async () => {
    const { store, other } = locked();
    const { receive, lines } = observedReceiver({ store, storeTimeouts: { claim: 100 } });
    expect((await receive()).code).toBe("store_unavailable");
    expect(lines).toEqual([expect.stringContaining("kept the database locked")]);
    other.exec("commit");
  });

  test("a receiver responds with 503, and a duplicate gets its 200", async () => {
    const { store, other } = locked();
    other.exec("commit");
    const { receive } = observedReceiver({ store, storeTimeouts: { claim: 100 } });
    expect((await receive()).code).toBe("processed");
    other.exec("begin immediate");
    expect((await receive()).code).toBe("duplicate");
    const { signed } = await import("@svc-webhooks/kit/deliveries");
    const second = signed(undefined, { "x-svc-delivery-id": "dlv_other" });
    expect(await receive(second)).toMatchObject({ status: 503, code: "store_unavailable" });
    other.exec("commit");
    expect((await receive(second)).code).toBe("processed");
  });

  test("a transaction throws locked after busyTimeoutMs, and writes nothing", async () => {
    const { db, store, other } = locked();
    other.exec("commit");
    const context = await claimed(store);
    other.exec("begin immediate");
    expect(() => store.transaction(context, (tx) => insert(tx, "a"))).toThrow(
      expect.objectContaining({ code: "locked" }),
    );
    other.exec("commit");
    store.transaction(context, (tx) => insert(tx, "b"));
    expect(effects(db)).toEqual(["b"]);
  });

  test("statements of the application still have its busy timeout after a call", async () => {
    const { db, file, store } = openStore({ busyTimeoutMs: 1_234 });
    const other = openSqlite(file);
    other.exec("begin immediate");
    const timeout = () => Object.values(db.prepare("pragma busy_timeout").get() ?? {})[0];
    const claim = Promise.resolve(store.claim(key, claimBy("a"), call));
    expect(timeout()).toBe(1_234);
    other.exec("commit");
    await claim;
    expect(timeout()).toBe(1_234);
    db.exec("pragma busy_timeout = 7");
    expect(store.check()).toEqual([expect.stringContaining("busy_timeout is 7 ms")]);
  });
});

describe("in a rollback journal, while another connection commits", () => {
  /** Opens a store that records the busy timeout of each of its reads, and locks the file against them. */
  function exclusive() {
    const { db, file, store: first } = openStore();
    db.exec("pragma journal_mode = delete");
    const timeouts = new Set<unknown>();
    const timeout = () => Object.values(db.prepare("pragma busy_timeout").get() ?? {})[0];
    const store = sqliteStore({
      exec: (sql) => db.exec(sql),
      prepare(sql) {
        timeouts.add(timeout());
        const statement = db.prepare(sql);
        return {
          run: (...values) => statement.run(...(values as [])),
          get(...values) {
            timeouts.add(timeout());
            return statement.get(...(values as []));
          },
        };
      },
    });
    const other = openSqlite(file);
    return { db, first, store, other, timeout, timeouts };
  }

  test("a claim and a peek wait without blocking the process, and then succeed", async () => {
    const { first, store, other, timeout, timeouts } = exclusive();
    await claimed(first, { of: keyOf(1) });
    timeouts.clear();
    other.exec("begin exclusive");
    const claim = Promise.resolve(store.claim(key, claimBy("a"), call));
    const peek = Promise.resolve(store.peek?.([key, keyOf(1)], call));
    let turns = 0;
    await until(() => (turns += 1) > 10, "the event loop turns");
    expect([...timeouts]).toEqual([0]);
    expect(timeout()).toBe(5_000);
    other.exec("commit");
    expect(await claim).toMatchObject({ status: "claimed", run: 1 });
    expect(await peek).toEqual([expect.anything(), "running"]);
    expect(timeout()).toBe(5_000);
  });

  test("a claim and a peek whose deadline has passed reject with not_sent", async () => {
    const { store, other } = exclusive();
    other.exec("begin exclusive");
    const over = { signal: aborted() };
    await expect(store.claim(key, claimBy("a"), over)).rejects.toMatchObject({ code: "not_sent" });
    await expect(store.peek?.([key], over)).rejects.toMatchObject({ code: "not_sent" });
    other.exec("commit");
    expect(store.peek?.([key], call)).toEqual([undefined]);
  });
});
