import { copyFileSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { setTimeout as pause } from "node:timers/promises";
import { createReceiver, PermanentError } from "@svc-webhooks/core";
import { eventBody, signed } from "@svc-webhooks/kit/deliveries";
import { sized } from "@svc-webhooks/kit/sized";
import { openSqlite, sqliteFile } from "@svc-webhooks/kit/sqlite";
import { until } from "@svc-webhooks/kit/until";
import { migrate, sqliteInbox, sqliteStore } from "@svc-webhooks/sqlite";
import { DatabaseSync, type DatabaseSyncInstance } from "@photostructure/sqlite";
import { expect, test } from "vitest";

const parts = 5;
const headerBytes = 32;
const frameBytes = 4_096 + 24;

interface Log {
  /** The file before the first event. */
  readonly base: string;
  /** The write-ahead log of all events. */
  readonly bytes: Buffer;
  /** The number of pages in the log when each event was acknowledged. */
  readonly acknowledged: ReadonlyMap<string, number>;
  /** The events by their key. */
  readonly eventOf: ReadonlyMap<string, string>;
}

/** Accepts events and runs them, some of which fail, without a checkpoint. */
async function record(count: number): Promise<Log> {
  const file = sqliteFile();
  const base = sqliteFile();
  const db = openSqlite(file);
  const store = sqliteStore(db);
  const retry = { limit: 3, firstMs: 1, mostMs: 5 };
  const inbox = sqliteInbox(db, { retry, partitionBy: ({ part }) => String(part) });
  migrate(db);
  db.exec("create table effects (id text)");
  db.exec("pragma wal_checkpoint(truncate); pragma wal_autocheckpoint = 0");
  copyFileSync(file, base);
  const eventOf = new Map<string, string>();
  let runs = 0;
  const receiver = createReceiver({
    name: "prefixes",
    secret: "whsec_test",
    store,
    log() {},
    onHandlerError() {},
    on: {
      "*": inbox(async ({ index }, context) => {
        eventOf.set(context.idempotencyKey, `e${String(index)}`);
        runs += 1;
        if (runs % 9 === 4) throw new Error("The handler failed.");
        if (Number(index) % 20 === 7) throw new PermanentError("poison");
        await pause(runs % 3);
        store.transaction(
          context,
          () => void db.prepare("insert into effects values (?)").run(`e${String(index)}`),
        );
      }),
    },
  });
  const worker = await inbox.work(receiver, { concurrency: 4 });
  const acknowledged = new Map<string, number>();
  for (let index = 0; index < count; index += 1) {
    const body = eventBody("email.sent", { index, part: index % parts });
    const { code } = await receiver.receive(
      await signed(body, { "x-svc-delivery-id": `e${index}` }),
    );
    expect(code).toBe("enqueued");
    acknowledged.set(`e${index}`, (statSync(`${file}-wal`).size - headerBytes) / frameBytes);
  }
  await until(async () => {
    const { ready, delayed, active } = await inbox.admin.stats();
    return ready + delayed + active === 0;
  }, "all events have run");
  await worker.stop({ deadlineMs: 0 });
  return { base, bytes: readFileSync(`${file}-wal`), acknowledged, eventOf };
}

interface Job {
  readonly key: string;
  readonly part: string;
  readonly due_at: number | null;
  readonly died_at: number | null;
}

/** Returns the mistakes in a file that lacks the pages of the log after the first ones. */
function mistakesIn(db: DatabaseSyncInstance, pages: number, { acknowledged, eventOf }: Log) {
  const mistakes: string[] = [];
  const rows = (sql: string): readonly unknown[] => db.prepare(sql).all();
  const jobs = rows(
    "select lower(hex(key)) as key, part, due_at, died_at from svc_webhooks_jobs order by seq",
  ) as readonly Job[];
  const waiting = new Set(jobs.map(({ key }) => eventOf.get(key)));
  const finished = rows(
    "select lower(hex(key)) as key from svc_webhooks_deliveries where state = 'd'",
  ) as readonly Pick<Job, "key">[];
  const done = new Set(finished.map(({ key }) => eventOf.get(key)));
  const rowsOfEffects = rows("select id from effects") as readonly { readonly id: string }[];
  const effects = rowsOfEffects.map(({ id }) => id);
  if (new Set(effects).size < effects.length) mistakes.push("an effect twice");
  if (effects.some((id) => !done.has(id) || waiting.has(id)))
    mistakes.push("an effect of an event that is not done");
  if (done.size > effects.length) mistakes.push("a done event without its effect");
  for (const [id, at] of acknowledged) {
    if (at <= pages && !waiting.has(id) && !done.has(id))
      mistakes.push(`${id} was acknowledged and is gone`);
  }
  for (let part = 0; part < parts; part += 1) {
    const live = jobs.filter((job) => job.part === String(part) && job.died_at === null);
    const mayRun = live.map(({ due_at }) => due_at !== null);
    if (mayRun.some((may, index) => may !== (index === 0))) mistakes.push(`the order of ${part}`);
  }
  const found = JSON.stringify(rows("pragma integrity_check"));
  if (found !== '[{"integrity_check":"ok"}]') mistakes.push(found);
  return mistakes;
}

// A power loss keeps a prefix of the log that contains at least the last commit that waited for the disk.
test("at each prefix of the log, an event is unknown, or waits, or is done with one effect", async () => {
  const log = await record(120);
  const pages = Math.floor((log.bytes.length - headerBytes) / frameBytes);
  expect(pages).toBeGreaterThan(1_000);
  const found: string[] = [];
  const seen = { waiting: 0, done: 0 };
  const cut = sqliteFile();
  for (let kept = 0; kept <= pages; kept += sized(10, 1)) {
    const file = `${cut}.${kept}`;
    copyFileSync(log.base, file);
    writeFileSync(`${file}-wal`, log.bytes.subarray(0, headerBytes + kept * frameBytes));
    const db = new DatabaseSync(file);
    found.push(...mistakesIn(db, kept, log).map((mistake) => `${kept} pages: ${mistake}`));
    const count = (table: string) =>
      Number(Object.values(db.prepare(`select count(*) from ${table}`).get() ?? {})[0]);
    seen.waiting = Math.max(seen.waiting, count("svc_webhooks_jobs"));
    seen.done = Math.max(seen.done, count("effects"));
    db.close();
  }
  expect(found).toEqual([]);
  expect(seen.waiting).toBeGreaterThan(1);
  expect(seen.done).toBeGreaterThan(50);
});
