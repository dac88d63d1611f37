import { migrate, sqliteInbox, sqliteStore, type SqliteInboxDatabase } from "@svc-webhooks/sqlite";
import type { InboxSettings, InboxUnderTest } from "@svc-webhooks/testing/inbox";

interface OpenDatabase extends SqliteInboxDatabase {
  close(): unknown;
}

/**
 * Returns an inbox in a new file for the contract.
 *
 * @param open opens a connection to the file
 * @param hasStore whether the records are in the file, so that their commits also end the jobs
 */
export function sqliteInboxUnderTest(
  open: () => OpenDatabase,
  { attempts, partitionBy, afterDead }: InboxSettings,
  hasStore: boolean,
): InboxUnderTest {
  const first = open();
  const store = hasStore ? sqliteStore(first) : undefined;
  migrate(first);
  const stopping: (() => Promise<void>)[] = [];
  const databases: OpenDatabase[] = [];
  return {
    ...(store && { store }),
    connect() {
      const db = open();
      databases.push(db);
      const inbox = sqliteInbox(db, {
        partitionBy,
        afterDead,
        retry: { limit: attempts, firstMs: 1, mostMs: 1 },
        // A connection that the contract has cut reports errors.
        onError() {},
      });
      return {
        inbox,
        admin: inbox.admin,
        async work(receiver) {
          const worker = await inbox.work(receiver);
          stopping.push(() => worker.stop({ deadlineMs: 0 }));
          return { stop: () => worker.stop({ deadlineMs: 10_000 }) };
        },
        kill: () => db.close(),
      };
    },
    inject(data) {
      first
        .prepare(
          "insert into svc_webhooks_jobs (queue, key, stored_at, due_at, job) values ('webhooks', randomblob(16), ?, ?, ?)",
        )
        .run(Date.now(), Date.now(), JSON.stringify(data));
    },
    async close() {
      for (const stop of stopping) await stop();
      for (const db of [first, ...databases]) {
        try {
          db.close();
        } catch {
          // The case has closed it.
        }
      }
    },
  };
}
