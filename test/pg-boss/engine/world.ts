import { createReceiver, type Handler, type Outcome, type Receiver } from "@svc-webhooks/core";
import {
  pgBossInbox,
  type InboxWorker,
  type PgBossInbox,
  type PgBossInboxOptions,
  type WorkOptions,
} from "@svc-webhooks/pg-boss";
import { migrate, postgresStore, type PostgresStore } from "@svc-webhooks/postgres";
import { eventBody, secret, signed } from "@svc-webhooks/kit/deliveries";
import type { PostgresServer } from "@svc-webhooks/kit/postgres-server";
import { patient } from "@svc-webhooks/kit/receivers";
import { Pool, type PoolClient } from "pg";
import { onTestFinished } from "vitest";
import { bossOf, type TestBoss } from "./boss.js";

type Run = Handler<unknown>;

export interface World {
  readonly boss: TestBoss;
  readonly inbox: PgBossInbox;
  readonly store: PostgresStore<PoolClient>;
  readonly receiver: Receiver;
  readonly queue: string;
  /** Sends an event to the receiver. Its delivery id is that of the event. */
  readonly send: (id: string, fields?: object) => Promise<Outcome>;
  readonly work: (options?: WorkOptions) => Promise<InboxWorker>;
  /** Runs a statement of SQL. */
  readonly query: (text: string, values?: unknown[]) => Promise<Record<string, unknown>[]>;
}

let worlds = 0;

/** Creates a queue of its own on a server, and a receiver whose events all run `run` from it. */
export async function worldOf(
  { connectionString }: PostgresServer,
  run: Run,
  options: PgBossInboxOptions & { readonly receiver?: object; readonly setUp?: boolean } = {},
): Promise<World> {
  worlds += 1;
  const { receiver: ofReceiver, setUp = true, ...ofInbox } = options;
  const queue = ofInbox.queue ?? `queue-${process.pid}-${worlds}`;
  const pool = new Pool({ connectionString, max: 20, connectionTimeoutMillis: 1_000 });
  pool.on("error", () => {});
  const boss = bossOf(connectionString);
  await boss.start();
  await migrate(pool);
  onTestFinished(async () => {
    await boss.stop({ graceful: false });
    await pool.end();
  });
  const inbox = pgBossInbox(boss, { ...ofInbox, queue });
  if (setUp) await inbox.setup();
  const store = postgresStore(pool);
  const receiver = createReceiver({
    secret,
    name: queue,
    store,
    storeTimeouts: patient,
    log: () => {},
    on: { "*": inbox(run) },
    ...ofReceiver,
  });
  return {
    boss,
    inbox,
    store,
    receiver,
    queue,
    send: async (id, fields = {}) =>
      receiver.receive(
        await signed(eventBody("email.sent", { id, ...fields }), { "x-svc-delivery-id": id }),
      ),
    async work(given) {
      const worker = await inbox.work(receiver, given);
      onTestFinished(() => worker.stop({ deadlineMs: 0 }));
      return worker;
    },
    query: async (text, values) =>
      (await pool.query(text, values)).rows as Record<string, unknown>[],
  };
}

/** Returns the id of an event that `send` sent. */
export const idOf = (event: unknown): string => (event as { readonly id: string }).id;

/** Returns the values of an async iterable. */
export async function listed<T>(values: AsyncIterable<T>): Promise<readonly T[]> {
  const all: T[] = [];
  for await (const value of values) all.push(value);
  return all;
}
