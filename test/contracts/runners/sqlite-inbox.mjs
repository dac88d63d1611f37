import { migrate, sqliteInbox, sqliteStore } from "@svc-webhooks/sqlite";

const foreign =
  "insert into svc_webhooks_jobs (queue, key, stored_at, due_at, job) values ('webhooks', randomblob(16), ?, ?, ?)";

/** Returns an inbox in a new file for the contract. */
export function sqliteInboxUnderTest(open, { attempts, partitionBy, afterDead }, hasStore) {
  const first = open();
  const store = hasStore ? sqliteStore(first) : undefined;
  migrate(first);
  const stopping = [];
  const databases = [first];
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
    inject: (data) => first.prepare(foreign).run(Date.now(), Date.now(), JSON.stringify(data)),
    async close() {
      for (const stop of stopping) await stop();
      for (const db of databases) {
        try {
          db.close();
        } catch {
          // The case has closed it.
        }
      }
    },
  };
}
