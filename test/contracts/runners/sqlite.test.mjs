import { deepEqual, equal, match, throws } from "node:assert/strict";
import { mkdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { migrate, sqliteStore } from "@svc-webhooks/sqlite";
import { inboxContract } from "@svc-webhooks/testing/inbox";
import { storeContract } from "@svc-webhooks/testing/store";
import { sqliteInboxUnderTest } from "./sqlite-inbox.mjs";

const { describe, it } = await import(process.versions.bun ? "bun:test" : "node:test");

/** Functions that open a connection, by the name of the driver. */
const drivers = {
  "node:sqlite": async () => {
    const { DatabaseSync } = await import("node:sqlite");
    return (file, readOnly) => new DatabaseSync(file, { readOnly });
  },
  "@photostructure/sqlite": async () => {
    const { DatabaseSync } = await import("@photostructure/sqlite");
    return (file, readOnly) => new DatabaseSync(file, { readOnly });
  },
  "better-sqlite3": async () => {
    // Installed outside of the workspace.
    const { default: Database } = await import(process.env.BETTER_SQLITE3);
    return (file, readonly) => new Database(file, { readonly });
  },
  "bun:sqlite": async () => {
    const { Database } = await import("bun:sqlite");
    return (file, readonly) => new Database(file, readonly ? { readonly } : { create: true });
  },
};

const driver = process.env.SQLITE_DRIVER;
const open = await drivers[driver]();

let files = 0;
const newFile = () => join(process.env.SQLITE_FOLDER, `${(files += 1)}.db`);

function opened(options) {
  const file = newFile();
  const db = open(file, false);
  const store = sqliteStore(db, options);
  migrate(db);
  db.exec("create table effects (name text)");
  return { file, db, store };
}

const age = `UPDATE svc_webhooks_deliveries SET
  lease_ends_at = lease_ends_at - ?, expires_at = expires_at - ?`;

const makeStore = () => {
  const { db, store } = opened({ synchronous: "normal" });
  return { store, advance: (ms) => db.prepare(age).run(ms, ms), close: () => db.close() };
};
storeContract({ describe, it }, `the SQLite store over ${driver}`, makeStore, { modelRuns: 50 });

for (const hasStore of [true, false]) {
  const makeInbox = (settings) => {
    const file = newFile();
    return sqliteInboxUnderTest(() => open(file, false), settings, hasStore);
  };
  const store = hasStore ? "the store of its file" : "a store elsewhere";
  // The cases run together, because most of them wait for a lease or a pause.
  const together = (name, run) =>
    process.versions.bun ? describe.concurrent(name, run) : describe(name, { concurrency: 5 }, run);
  inboxContract(
    { describe: together, it },
    `the SQLite inbox over ${driver} with ${store}`,
    makeInbox,
    { order: true },
  );
}

const key = "0".repeat(32);
const request = { token: "a", leaseMs: 30_000, retainMs: 604_800_000 };
const call = { signal: new AbortController().signal };
const claimed = (store) => ({ idempotencyKey: key, fence: store.claim(key, request, call).fence });
const count = (db) => Object.values(db.prepare("select count(*) from effects").get())[0];
const insert = (db) => db.prepare("insert into effects values (?)").run("a");

describe(`a transaction over ${driver}`, () => {
  it("commits the effects and the completion", async () => {
    const { db, store } = opened();
    equal(
      store.transaction(claimed(store), (tx) => (insert(tx), 1)),
      1,
    );
    equal(count(db), 1);
    deepEqual(store.claim(key, request, call).status, "done");
    deepEqual(store.check(), []);
  });

  it("is rolled back if work throws, returns a promise or ends it", async () => {
    const { db, store } = opened();
    const context = claimed(store);
    const failing = (work) => () => store.transaction(context, work);
    throws(
      failing((tx) => {
        insert(tx);
        throw new Error("inside");
      }),
      /inside/,
    );
    throws(
      failing((tx) => {
        insert(tx);
        return Promise.resolve();
      }),
      { code: "asynchronous_work" },
    );
    throws(
      failing((tx) => {
        insert(tx);
        tx.exec("rollback");
      }),
      { code: "transaction_ended" },
    );
    throws(
      failing(async () => {}),
      { code: "invalid_option" },
    );
    equal(count(db), 0);
    store.transaction(context, insert);
    throws(failing(insert), { code: "transaction_lost" });
    equal(count(db), 1);
  });

  it("is refused inside another transaction", async () => {
    const { file, db, store } = opened();
    const context = claimed(store);
    db.exec("begin");
    throws(() => store.transaction(context, insert), { code: "transaction_open" });
    throws(() => store.complete(key, request, call), { code: "transaction_open" });
    // Neither call has taken the write lock.
    insert(open(file, false));
    db.exec("rollback");
    equal(store.complete(key, request, call), "owner");
  });

  it("and the calls of the store report a locked file", async () => {
    const { file, db, store } = opened();
    const context = claimed(store);
    const other = open(file, false);
    other.exec("begin immediate");
    db.exec("pragma busy_timeout = 0");
    throws(() => store.transaction(context, insert), { code: "locked" });
    const late = { signal: AbortSignal.abort() };
    const refused = await store.complete(key, request, late).catch(({ code }) => code);
    equal(refused, "not_sent");
    const waiting = store.complete(key, request, call);
    await new Promise(setImmediate);
    other.exec("rollback");
    equal(await waiting, "owner");
  });

  it("works after the connection was closed and opened again", () => {
    const options = { busyTimeoutMs: 1_234 };
    const { file, db, store } = opened(options);
    store.transaction(claimed(store), insert);
    db.close();
    // Some drivers need a new connection, and thus a new store.
    const isNew = typeof db.open !== "function";
    if (!isNew) db.open();
    const again = isNew ? open(file, false) : db;
    const next = isNew ? sqliteStore(again, options) : store;
    equal(next.claim("1".repeat(32), request, call).run, 1);
    equal(next.claim(key, request, call).status, "done");
    deepEqual(Object.values(again.prepare("pragma busy_timeout").get()), [1_234]);
    deepEqual(next.check(), []);
  });

  it("names a read-only, a closed and an empty database", async () => {
    const { file, db } = opened();
    const readOnly = sqliteStore(open(file, true));
    throws(() => readOnly.claim(key, request, call), { code: "read_only" });
    match(readOnly.check().join(), /cannot be written to/);
    const empty = sqliteStore(open(newFile(), false));
    throws(() => empty.claim(key, request, call), { code: "schema_missing" });
    const store = sqliteStore(db);
    db.close();
    throws(() => store.transaction({ idempotencyKey: key, fence: 1 }, insert), {
      code: "database_closed",
    });
  });

  it("names a log that cannot be opened, and a file that was deleted", () => {
    const { file, store } = opened();
    rmSync(file);
    match(store.check().join(), /was deleted or moved/);
    const other = newFile();
    const db = open(other, false);
    db.exec("pragma journal_mode = wal");
    db.close();
    for (const name of ["wal", "shm"]) rmSync(`${other}-${name}`, { force: true });
    mkdirSync(`${other}-wal`);
    throws(() => sqliteStore(open(other, false)), { code: "cannot_open" });
  });
});
