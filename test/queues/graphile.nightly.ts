import { EventEmitter } from "node:events";
import { createReceiver, type Receiver } from "@svc-webhooks/core";
import { eventBody, secret, signed } from "@svc-webhooks/kit/deliveries";
import {
  describeWithPostgres,
  postgresServer,
  type PostgresServer,
} from "@svc-webhooks/kit/postgres-server";
import { until } from "@svc-webhooks/kit/until";
import { inboxContract } from "@svc-webhooks/testing/inbox";
import { Pool } from "pg";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { graphileIn, recipeIn, type Recipe } from "./graphile.js";
import { installedWith } from "./install.js";

/** As in the recipe: attempts that Graphile Worker allows, and the recipe does not use. */
const spare = 100;

describeWithPostgres("Graphile Worker", () => {
  let server: PostgresServer;
  let recipe: Recipe;
  let graphile: Awaited<ReturnType<typeof graphileIn>>;
  let databases = 0;

  const poolOf = (database: string) => {
    const url = new URL(server.connectionString);
    url.pathname = database;
    const pool = new Pool({ connectionString: url.href, max: 20 });
    pool.on("error", () => {});
    // Graphile Worker warns about a pool without this listener.
    pool.on("connect", (client) => client.on("error", () => {}));
    return pool;
  };

  beforeAll(async () => {
    const packages = ["graphile-worker@0.17.3", "pg@8.23.1"];
    const folder = await installedWith(packages, { own: ["svc-webhooks"], node: "20" });
    recipe = await recipeIn(folder);
    graphile = await graphileIn(folder);
    server = await postgresServer();
    const pool = poolOf("postgres");
    await pool.query("create database prepared");
    const prepared = poolOf("prepared");
    await graphile.runMigrations({ pgPool: prepared, logger: silent() });
    await prepared.query(recipe.schema);
    await Promise.all([prepared.end(), pool.end()]);
  });
  afterAll(() => server?.close());

  const silent = () => new graphile.Logger(() => () => {});

  /** Creates a database with an empty queue. */
  const emptyQueue = async (attempts = 12) => {
    databases += 1;
    const database = `queue_${databases}`;
    const admin = poolOf("postgres");
    await admin.query(`create database ${database} template prepared`);
    await admin.end();
    const pool = poolOf(database);
    const stopping: (() => Promise<void>)[] = [];
    let releases = 0;
    return {
      pool,
      /** Returns how often a worker has released the jobs of killed ones. */
      releases: () => releases,
      inbox: recipe.graphileInbox(pool, attempts),
      async work(receiver: Pick<Receiver, "resume">) {
        const events = new EventEmitter();
        events.on("resetLocked:success", () => void (releases += 1));
        const runner = await graphile.run({
          pgPool: pool,
          events,
          concurrency: 8,
          // Looks for new jobs, and for jobs of killed workers, more often than by default.
          pollInterval: 100,
          minResetLockedInterval: 1,
          maxResetLockedInterval: 100,
          noHandleSignals: true,
          logger: silent(),
          taskList: { webhook: recipe.webhookTask(receiver, { limit: attempts, mostMs: 1_000 }) },
        });
        let stopped: Promise<void> | undefined;
        const stop = () => (stopped ??= runner.stop());
        stopping.push(stop);
        return { stop };
      },
      async close() {
        for (const stop of stopping) await stop();
        await pool.end();
      },
    };
  };

  inboxContract(
    // Most of a case is waiting for a retry, and each has a database of its own.
    { describe, it: test.concurrent },
    "passes the contract",
    async ({ attempts }) => {
      const queue = await emptyQueue(attempts);
      return {
        connect: () => queue,
        inject: (data) =>
          queue.pool.query(
            "select graphile_worker.add_job('webhook', $1::json, max_attempts => $2)",
            [JSON.stringify(data), attempts + spare],
          ),
        deadLetters: async () =>
          (await queue.pool.query("select key, error from webhook_dead_letters")).rows,
        close: () => queue.close(),
      };
    },
    { admin: false, kill: false },
  );

  /** Stores an event in an empty queue, with a receiver that counts its runs. */
  const withEvent = async (handler: () => unknown = () => {}) => {
    const queue = await emptyQueue();
    onTestFinished(() => queue.close());
    let runs = 0;
    const run = queue.inbox(() => {
      runs += 1;
      return handler() as void;
    });
    const receiver = createReceiver({ secret, name: "mail", on: { "*": run }, log: () => {} });
    const delivery = await signed(eventBody("email.sent"));
    const receive = async () => (await receiver.receive(delivery)).code;
    expect(await receive()).toBe("enqueued");
    return { queue, receiver, receive, runs: () => runs };
  };

  test("copies of an event are one job while it waits, and nothing of it is left when it is done", async () => {
    const { queue, receiver, receive, runs } = await withEvent();
    await Promise.all([receive(), receive(), receive()]);
    const jobs = async () => (await queue.pool.query("select key from graphile_worker.jobs")).rows;
    expect(await jobs()).toHaveLength(1);
    await queue.work(receiver);
    await until(async () => (await jobs()).length === 0, "the job is done");
    expect(runs()).toBe(1);
  });

  test("a job of a killed worker waits for four hours, and then runs", async () => {
    const { queue, receiver, runs } = await withEvent();
    const lock = (age: string) =>
      queue.pool.query(
        `update graphile_worker._private_jobs
          set locked_by = 'killed', locked_at = now() - interval '${age}', attempts = 11`,
      );
    await lock("3 hours 59 minutes");
    const worker = await queue.work(receiver);
    await until(() => queue.releases() > 2, "the worker has looked for jobs of killed ones");
    await worker.stop();
    expect(runs()).toBe(0);
    await lock("4 hours 1 minute");
    await queue.work(receiver);
    await until(() => runs() === 1, "it runs");
  });

  test("an operator can run a dead letter again with the statements of the page", async () => {
    let isFixed = false;
    const { queue, receiver, runs } = await withEvent(() => {
      if (!isFixed) throw new Error("There is no such customer.");
    });
    await queue.pool.query("update graphile_worker._private_jobs set attempts = 11");
    await queue.work(receiver);
    const letters = async () =>
      (await queue.pool.query("select key, job, error from webhook_dead_letters")).rows;
    await until(async () => (await letters()).length === 1, "it is dead");
    const [letter] = await letters();
    expect(letter).toMatchObject({ error: "There is no such customer." });
    isFixed = true;
    await queue.pool.query(
      `with revived as (delete from webhook_dead_letters where key = $1)
        select graphile_worker.add_job('webhook', $2::json,
          job_key => $1, job_key_mode => 'unsafe_dedupe', max_attempts => 112)`,
      [letter.key, JSON.stringify(letter.job)],
    );
    await until(() => runs() === 2, "it runs again");
    expect(await letters()).toEqual([]);
  });
});
