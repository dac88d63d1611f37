import { pgBossInbox } from "@svc-webhooks/pg-boss";
import { inboxContract } from "@svc-webhooks/testing/inbox";
import {
  describeWithPostgres,
  postgresServer,
  type PostgresServer,
} from "@svc-webhooks/kit/postgres-server";
import { Pool } from "pg";
import { afterAll, beforeAll, describe, test } from "vitest";
import { bossOf } from "./boss.js";

describeWithPostgres("an inbox on pg-boss", () => {
  let server: PostgresServer;
  beforeAll(async () => {
    server = await postgresServer();
  });
  afterAll(() => server?.close());

  let queues = 0;

  for (const intake of [false, true]) {
    inboxContract(
      // Each case has a queue of its own.
      { describe, it: test.concurrent },
      `passes the contract${intake ? " with an intake" : ""}`,
      async ({ attempts, partitionBy, afterDead }) => {
        queues += 1;
        const queue = `contract-${queues}`;
        const opened: { close(): Promise<unknown> }[] = [];
        const options = {
          queue,
          retry: { limit: attempts, firstMs: 1_000, mostMs: 1_000 },
          ...(partitionBy && { partitionBy, afterDead }),
        };
        const connect = async () => {
          const pool = new Pool({ connectionString: server.connectionString });
          let isKilled = false;
          const closing = new AbortController();
          const reached = async () => {
            if (isKilled)
              await new Promise((_, end) => closing.signal.addEventListener("abort", end));
          };
          const boss = bossOf(server.connectionString, {
            db: {
              async executeSql(text: string, values?: unknown[]) {
                await reached();
                return pool.query(text, values);
              },
              async beginTransaction() {
                await reached();
                const client = await pool.connect();
                const end = async (text: string) => {
                  await client.query(text);
                  client.release();
                };
                await client.query("begin");
                return {
                  db: {
                    executeSql: (text: string, values?: unknown[]) => client.query(text, values),
                  },
                  commit: () => end("commit"),
                  rollback: () => end("rollback"),
                };
              },
            },
          });
          await boss.start();
          const inbox = pgBossInbox(boss, options);
          await inbox.setup();
          opened.push({
            async close() {
              closing.abort();
              if (!isKilled) await boss.stop({ graceful: false });
              await pool.end();
            },
          });
          return {
            boss,
            inbox,
            admin: inbox.admin,
            async work(receiver: Parameters<typeof inbox.work>[0]) {
              const worker = await inbox.work(receiver);
              return { stop: () => worker.stop({ deadlineMs: 10_000 }) };
            },
            kill: () => void (isKilled = true),
          };
        };
        return {
          connect,
          async inject(data) {
            const { boss } = await connect();
            await boss.send(queue, data, {
              id: crypto.randomUUID(),
              ...(partitionBy && { singletonKey: "injected" }),
            });
          },
          close: () => Promise.all(opened.map((one) => one.close())),
        };
      },
      { order: true, intake },
    );
  }
});
