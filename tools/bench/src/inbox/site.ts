import { bullmqInbox } from "@svc-webhooks/bullmq";
import { pgBossInbox, type PgBossInboxOptions, type PgBossLike } from "@svc-webhooks/pg-boss";
import { migrate, postgresStore } from "@svc-webhooks/postgres";
import { createPostgresBackend, Queue, Worker } from "bullmq";
import { Pool } from "pg";
import { inFlight, inline, queued, type Queued } from "./queued.js";

const connections = 20;

/** The addresses of the servers, and of pg-boss's module. */
export interface Servers {
  readonly postgres: string;
  /** The ports of the Redis servers, by their `appendfsync`. */
  readonly redis: { readonly everysec: number; readonly always: number };
  readonly pgBoss: string;
}

type Boss = PgBossLike & {
  on(event: "error", listener: (error: Error) => void): void;
  stop(options: { readonly graceful: boolean }): Promise<void>;
};

/** Connects to the servers. Resolves to functions that open queues on them. */
export async function openSite({ postgres, redis, pgBoss }: Servers) {
  const pool = new Pool({ connectionString: postgres, max: connections });
  await migrate(pool);
  await pool.query("create table effects (id bigint generated always as identity, key text)");
  const store = postgresStore(pool);
  const { PgBoss } = (await import(pgBoss)) as { readonly PgBoss: new (options: object) => Boss };
  const boss = new PgBoss({ connectionString: postgres, max: connections, schedule: false });
  boss.on("error", (error) => console.error(error));
  await boss.start({ attempts: 1 });
  const closing: (() => Promise<unknown>)[] = [
    () => boss.stop({ graceful: false }),
    () => pool.end(),
  ];

  return {
    pool,
    inline: inline(store),
    async pgBoss(queue: string, options: PgBossInboxOptions = {}): Promise<Queued> {
      const inbox = pgBossInbox(boss, { queue, ...options });
      await inbox.setup();
      return queued(store, inbox, async (receiver) => {
        const worker = await inbox.work(receiver, { concurrency: inFlight.running });
        return () => worker.stop({ deadlineMs: 60_000 });
      });
    },
    async bullmq(queue: string, server: keyof Servers["redis"] | "postgres"): Promise<Queued> {
      const onPostgres = server === "postgres";
      const connection = onPostgres
        ? { connectionString: postgres, migrate: true }
        : { host: "127.0.0.1", port: redis[server], maxRetriesPerRequest: null };
      // Casts the backend, because the overloads do not allow one that may be undefined.
      const backend = (onPostgres ? createPostgresBackend : undefined) as never;
      const opened = new Queue(queue, { connection }, backend);
      closing.unshift(() => opened.close());
      await opened.waitUntilReady();
      const inbox = bullmqInbox(opened);
      return queued(store, inbox, async (receiver) => {
        const settings = { connection, concurrency: inFlight.running, ...inbox.workerOptions };
        const worker = new Worker(queue, inbox.processor(receiver) as never, settings, backend);
        return () => worker.close();
      });
    },
    async close() {
      for (const close of closing) await close();
    },
  };
}

export type Site = Awaited<ReturnType<typeof openSite>>;
