import { mkdtempSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "@photostructure/sqlite";
import { migrate, sqliteStore, type SqliteStore } from "@svc-webhooks/sqlite";
import type { Race } from "../race.js";
import type { RunSection } from "../sections.js";
import { call, nameOf, newKey, ours, request, speedRace } from "../store-calls.js";

type Connection = InstanceType<typeof DatabaseSync>;

export const run: RunSection = async (quick) => {
  const folder = mkdtempSync(join(tmpdir(), "svc-webhooks-bench-"));
  try {
    return { title: "SQLite", races: await races(folder, quick) };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
};

/** The fixtures that the races share. */
interface Track {
  readonly db: Connection;
  readonly store: SqliteStore<Connection>;
  readonly quick: boolean;
}

async function races(folder: string, quick: boolean): Promise<Race[]> {
  const file = join(folder, "app.db");
  const db = new DatabaseSync(file);
  try {
    const store = sqliteStore(db);
    migrate(db);
    db.exec(`create table effects (id integer primary key, key text);
      create table webhooks (id text primary key, done integer) without rowid`);
    const track = { db, store, quick };
    const [few, many] = quick ? [10, 1_000] : [1_000, 100_000];
    return [
      await duplicateRace(track),
      await insertRace(track),
      await completionRace(track),
      bytesRace(track, file, many),
      await sizeRace(track, join(folder, "few.db"), few, many),
    ];
  } finally {
    db.close();
  }
}

function duplicateRace({ db, store, quick }: Track): Promise<Race> {
  const known = newKey();
  handle(store, known);
  db.prepare("insert into webhooks values (?, 1)").run(known);
  const select = db.prepare("select done from webhooks where id = ?");
  const bar = { lane: ours, atLeast: 0.25, aim: 0.5 };
  const contenders = {
    "select by key": () => select.get(known),
    [ours]: () => claimDone(store, known),
  };
  return speedRace("SQLite, duplicate", 1, quick, contenders, bar);
}

/** Compares with two transactions, because a delivery is claimed in one and completed in another. */
function insertRace({ db, store, quick }: Track): Promise<Race> {
  const effect = db.prepare("insert into effects (key) values (?)");
  const bare = () => inTransaction(db, () => effect.run(newKey()));
  const withTransaction = (to: SqliteStore<Connection>) => () => {
    const key = newKey();
    const context = { idempotencyKey: key, fence: claim(to, key) };
    to.transaction(context, () => void effect.run(key));
    complete(to, key);
  };
  const contenders = {
    "two bare transactions": () => {
      bare();
      bare();
    },
    "one bare transaction": bare,
    [ours]: withTransaction(store),
    [`${ours}, durableClaims`]: withTransaction(sqliteStore(db, { durableClaims: true })),
  };
  return speedRace("SQLite, one insert", 1, quick, contenders, {
    lane: ours,
    atLeast: 0.5,
    aim: 1,
  });
}

function completionRace({ db, store, quick }: Track): Promise<Race> {
  const insert = db.prepare("insert into webhooks values (?, 0)");
  const update = db.prepare("update webhooks set done = 1 where id = ?");
  return speedRace("SQLite, claim + complete", 1, quick, {
    "hand-written": () => {
      const key = newKey();
      insert.run(key);
      update.run(key);
    },
    [ours]: () => handle(store, newKey()),
  });
}

/** Measures the size of the file per record, in bytes. */
function bytesRace({ db }: Track, file: string, records: number): Race {
  db.exec("delete from effects; delete from webhooks; delete from svc_webhooks_deliveries; vacuum");
  fill(file, records);
  db.exec("pragma wal_checkpoint(truncate)");
  const lane = nameOf(records);
  const lanes = [{ name: lane, values: [statSync(file).size / records] }];
  return {
    title: "SQLite, bytes per done record",
    unit: "B",
    lanes,
    bars: [{ lane, atMost: 70, aim: 50 }],
  };
}

/**
 * Compares the speed with few records and with many. The table still contains the many records of the previous race.
 */
async function sizeRace(track: Track, file: string, few: number, many: number): Promise<Race> {
  const db = new DatabaseSync(file);
  try {
    const fewStore = sqliteStore(db);
    migrate(db);
    fill(file, few);
    const contenders = {
      [nameOf(few)]: () => comeAndGo(fewStore),
      [nameOf(many)]: () => comeAndGo(track.store),
    };
    const bar = { lane: nameOf(many), atLeast: 0.8, aim: 0.95 };
    return await speedRace("SQLite, claim + complete + forget", 1, track.quick, contenders, bar);
  } finally {
    db.close();
  }
}

// The functions below assert that each call has the expected result, because a rejected call would take less time. They
// await nothing: no other connection holds a lock, so the calls are synchronous.

function claim(store: SqliteStore<Connection>, key: string): number {
  const result = store.claim(key, request, call);
  if (result instanceof Promise || result.status !== "claimed")
    throw new Error("A new key was not claimed.");
  return result.fence;
}

function complete(store: SqliteStore<Connection>, key: string): void {
  const result = store.complete(key, request, call);
  if (result !== "owner") throw new Error("A claimed key was not completed by its owner.");
}

function claimDone(store: SqliteStore<Connection>, key: string): void {
  const result = store.claim(key, request, call);
  if (result instanceof Promise || result.status !== "done")
    throw new Error("A completed key is not done.");
}

function handle(store: SqliteStore<Connection>, key: string): void {
  claim(store, key);
  complete(store, key);
}

/** Runs `work` in a transaction, written as a user would write one. */
function inTransaction(db: Connection, work: () => unknown): void {
  db.exec("begin immediate");
  try {
    work();
    db.exec("commit");
  } catch (error) {
    db.exec("rollback");
    throw error;
  }
}

/** Adds done records on a separate connection, whose commits do not wait for the disk. */
function fill(file: string, records: number): void {
  const db = new DatabaseSync(file);
  try {
    const store = sqliteStore(db, { synchronous: "normal" });
    for (let index = 0; index < records; index += 1) handle(store, newKey());
  } finally {
    db.close();
  }
}

/** Handles a delivery and then forgets its record, so that the store's size stays the same. */
function comeAndGo(store: SqliteStore<Connection>): void {
  const key = newKey();
  handle(store, key);
  if (store.forget(key, call) !== true) throw new Error("A completed key was not forgotten.");
}
