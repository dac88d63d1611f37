import { statSync } from "node:fs";
import { call, claimBy } from "@svc-webhooks/kit/receivers";
import { age, openSqlite } from "@svc-webhooks/kit/sqlite";
import { migrate, sqliteStore } from "@svc-webhooks/sqlite";
import { randomBytes } from "node:crypto";
import { expect, onTestFinished, test, vi } from "vitest";
import { openStore } from "./support.js";

const newKey = () => randomBytes(16).toString("hex");
const week = 604_800_000;

function fill({ file }: ReturnType<typeof openStore>, records: number): void {
  // A single commit for all of them would be the application's, so the disk is not awaited instead.
  const quick = sqliteStore(openSqlite(file), { synchronous: "normal" });
  for (let index = 0; index < records; index += 1) {
    const key = newKey();
    void quick.claim(key, claimBy("a"), call);
    void quick.complete(key, claimBy("a"), call);
  }
}

const count = ({ db }: ReturnType<typeof openStore>, where = "1"): number =>
  Number(
    Object.values(
      db.prepare(`select count(*) from svc_webhooks_deliveries where ${where}`).get() ?? {},
    )[0],
  );

test("expired records go away by further claims alone", () => {
  const opened = openStore();
  fill(opened, 1_000);
  opened.db.prepare(age).run(week);
  expect(count(opened)).toBe(1_000);
  fill(opened, 1_000);
  // Without the removal it would be 2,000.
  expect(count(opened)).toBeLessThan(1_050);
  expect(count(opened, `expires_at > ${Date.now()}`)).toBe(1_000);
});

test("the number of records stays near the number that is retained", () => {
  const opened = openStore();
  const generations = 5;
  for (let index = 0; index < generations; index += 1) {
    fill(opened, 500);
    opened.db.prepare(age).run(week / 2);
  }
  // Two generations are retained at a time.
  expect(count(opened)).toBeLessThan(1_250);
});

test("purge removes expired records, at most as many as its limit, and no others", () => {
  const opened = openStore();
  fill(opened, 30);
  opened.db.prepare(age).run(week);
  const { store } = opened;
  expect(store.purge({ limit: 10 })).toBe(10);
  fill(opened, 1);
  expect(store.purge()).toBeGreaterThan(10);
  expect([store.purge(), count(opened)]).toEqual([0, 1]);
});

test("a done record takes less than 70 bytes", () => {
  const opened = openStore();
  const records = 5_000;
  fill(opened, records);
  opened.db.exec("pragma wal_checkpoint(truncate)");
  const { size } = statSync(opened.file);
  expect(size / records).toBeGreaterThan(16);
  expect(size / records).toBeLessThan(70);
});

/** Calls `build`, and returns its result with the number of entries in the maps that it has created. */
function counted<Result>(build: () => Result) {
  const maps: Map<unknown, unknown>[] = [];
  const Original = Map;
  class CountedMap<Key, Value> extends Original<Key, Value> {
    constructor() {
      super();
      maps.push(this);
    }
  }
  onTestFinished(() => void vi.unstubAllGlobals());
  vi.stubGlobal("Map", CountedMap);
  const result = build();
  vi.unstubAllGlobals();
  return { result, entries: () => maps.reduce((sum, { size }) => sum + size, 0) };
}

test("1,000 runs whose completion or release is given up leave no entry", async () => {
  const db = openSqlite(":memory:");
  migrate(db);
  let isLocked = false;
  const { result: store, entries } = counted(() =>
    sqliteStore({
      prepare: (sql) => db.prepare(sql),
      exec(sql) {
        if (isLocked) throw Object.assign(new Error("database is locked"), { errcode: 5 });
        db.exec(sql);
      },
    }),
  );
  const deadline = { signal: AbortSignal.abort() };
  for (let run = 0; run < 1_000; run += 1) {
    const key = newKey();
    isLocked = false;
    void store.claim(key, claimBy("a"), call);
    if (run === 0) expect(entries()).toBeGreaterThan(0);
    isLocked = true;
    const given =
      run % 2 === 0
        ? store.complete(key, claimBy("a"), deadline)
        : store.release(key, { ...claimBy("a"), to: "failed" }, deadline);
    await Promise.resolve(given).catch(() => {});
  }
  expect(entries()).toBe(0);
});
