import { fileURLToPath } from "node:url";
import { setTimeout as pause } from "node:timers/promises";
import { migrate } from "@svc-webhooks/postgres";
import { eventBody, signed } from "@svc-webhooks/kit/deliveries";
import { postgresServer, type PostgresServer } from "@svc-webhooks/kit/postgres-server";
import { seeded } from "@svc-webhooks/kit/random";
import { until } from "@svc-webhooks/kit/until";
import { Pool } from "pg";
import { onTestFinished } from "vitest";
import { bundled } from "../../../faults/processes/child.js";
import { createBoss } from "../boss.js";
import { graphile, silent } from "../graphile.js";
import { addJob } from "../recipe.js";
import { startJudge, type Judge, type Rules } from "./judge.js";
import { Place } from "./place.js";
import type { Settings, Variant } from "./settings.js";

/** The parameters of a run. */
export interface Load extends Pick<Rules, "seed" | "strikes"> {
  readonly variant: Variant;
  readonly events: number;
  /** Whether any process may be killed at any time, and charges fail. Default false. */
  readonly isWild?: boolean;
  /** The number of acknowledged events between crashes of the database. Default: none. */
  readonly crashEvery?: number;
}

/** The numbers of a run. */
export interface Result {
  readonly acknowledged: number;
  readonly rows: { readonly lost: number; readonly twice: number };
  /** The numbers of orders. */
  readonly uncharged: number;
  readonly underTwoKeys: number;
  readonly beforeTheRow: number;
  /** The number of orders that were charged several times under the same key. */
  readonly repeated: number;
  /** The number of processes that were killed at a point, and at any time. */
  readonly killed: number;
  readonly crashes: number;
  readonly summary: string;
}

/** The senders. Each waits for the lease of a killed process. */
const lanes = 24;

/** Creates the tables of a run and its queue. */
async function prepare(pool: Pool, connectionString: string, variant: Variant): Promise<void> {
  await migrate(pool);
  await pool.query("create table orders (id text)");
  if (variant === "Graphile Worker") {
    await graphile.runMigrations({ pgPool: pool, logger: silent() });
    return;
  }
  const boss = createBoss(connectionString, { connectionTimeoutMillis: 10_000 });
  await boss.start();
  // A worker that was killed keeps its jobs for 5 s.
  await boss.createQueue("charge", { retryLimit: 1_000, retryDelay: 1, expireInSeconds: 5 });
  await boss.stop({ graceful: false });
}

/** Counts the orders of each kind. */
async function verdictOf(pool: Pool, events: number, { charges, unfounded }: Judge) {
  const { rows } = await pool.query<{ id: string; count: number }>(
    "select id, count(*)::int as count from orders group by id",
  );
  const keysOf = new Map<string, string[]>();
  for (const { order, key } of charges) keysOf.set(order, [...(keysOf.get(order) ?? []), key]);
  const all = [...keysOf.values()];
  return {
    rows: { lost: events - rows.length, twice: rows.filter(({ count }) => count > 1).length },
    uncharged: rows.filter(({ id }) => !keysOf.has(id)).length,
    underTwoKeys: all.filter((keys) => new Set(keys).size > 1).length,
    beforeTheRow: unfounded.size,
    repeated: all.filter((keys) => new Set(keys).size < keys.length).length,
  };
}

/** The statement that counts the jobs that are not done, by variant. */
const countJobs = (variant: Variant) =>
  variant === "Graphile Worker"
    ? "select count(*)::int as count from graphile_worker._private_jobs"
    : "select count(*)::int as count from pgboss.job where state in ('created', 'retry', 'active')";

/** Sends events to two web processes until each is acknowledged. Calls `onAcknowledged` after each. */
async function send(
  { seed, events }: Load,
  web: readonly Place[],
  onAcknowledged: (count: number) => void,
): Promise<{ readonly acknowledged: number; readonly requests: number }> {
  const random = seeded(`${seed}/sender`);
  let [next, acknowledged, requests] = [0, 0, 0];
  const post = async (order: string): Promise<boolean> => {
    const { port } = random.pick(web);
    if (port === 0) return false;
    requests += 1;
    const { headers, body } = await signed(eventBody("order.paid", { order }), {
      "x-svc-delivery-id": order,
    });
    const signal = AbortSignal.timeout(8_000);
    const init = { method: "POST", headers, body: body.toString(), signal };
    const response = await fetch(`http://127.0.0.1:${port}/`, init).catch(() => undefined);
    await response?.arrayBuffer().catch(() => {});
    return response?.ok === true;
  };
  const lane = async () => {
    while (next < events) {
      const order = String(next);
      next += 1;
      while (!(await post(order))) await pause(random.between(50, 300));
      acknowledged += 1;
      onAcknowledged(acknowledged);
    }
  };
  await Promise.all(Array.from({ length: lanes }, lane));
  return { acknowledged, requests };
}

/** Crashes the database after every n-th acknowledged event. */
function crashing(database: PostgresServer, every: number | undefined, onCrash: () => void) {
  let crashes = 0;
  let pending = Promise.resolve();
  const crash = async (earlier: Promise<void>) => {
    await earlier;
    await database.crash();
    await database.restart();
    onCrash();
  };
  return {
    acknowledged(count: number) {
      if (every === undefined || count % every !== 0) return;
      crashes += 1;
      pending = crash(pending);
    },
    count: () => crashes,
    over: () => pending,
  };
}

/** Kills a process whenever a number of points has been reached. */
function wild(seed: string, places: () => readonly Place[]) {
  const random = seeded(`${seed}/monkey`);
  let left = random.between(40, 160);
  let kills = 0;
  return {
    kills: () => kills,
    onPoint() {
      left -= 1;
      if (left > 0) return;
      left = random.between(40, 160);
      const place = random.pick(places());
      if (!place.isReady) return;
      kills += 1;
      place.kill();
    },
  };
}

/** Sends events while processes are killed and the database crashes, until every job is done. */
export async function runChaos(load: Load): Promise<Result> {
  const { seed, variant, events, strikes, isWild = false, crashEvery } = load;
  const database = await postgresServer({ fsync: crashEvery === undefined ? "off" : "on" });
  onTestFinished(() => database.close());
  const { connectionString } = database;
  const pool = new Pool({ connectionString, connectionTimeoutMillis: 1_000 });
  onTestFinished(() => pool.end());
  pool.on("error", () => {});
  pool.on("connect", (client) => void client.on("error", () => {}));
  await prepare(pool, connectionString, variant);

  const web: Place[] = [];
  const workers: Place[] = [];
  const monkey = wild(seed, () => [...web, ...workers]);
  const judge = await startJudge({
    seed,
    strikes,
    isUnreliable: isWild,
    ...(isWild && { onPoint: () => monkey.onPoint() }),
    hasRow: async (order) =>
      pool.query("select from orders where id = $1", [order]).then(
        ({ rowCount }) => rowCount !== 0,
        () => undefined,
      ),
  });
  onTestFinished(() => judge.close());
  const script = await bundled(fileURLToPath(new URL("process.ts", import.meta.url)));
  /** Unlocks the jobs of a process that has ended, as the operator of Graphile Worker does. */
  const unlock = async (pid: number) => {
    const ids = judge.poolsOf(pid);
    if (ids.length === 0) return;
    const statement = "select graphile_worker.force_unlock_workers($1)";
    const isUnlocked = () =>
      pool.query(statement, [ids]).then(
        () => true,
        () => false,
      );
    await until(isUnlocked, "the jobs are unlocked");
  };
  const placeOf = (role: Settings["role"]) =>
    new Place(script, { role, variant, connectionString, judge: judge.url, addJob }, unlock);
  web.push(placeOf("web"), placeOf("web"));
  if (variant !== "charge first") workers.push(placeOf("worker"), placeOf("worker"));
  const stop = () => Promise.all([...web, ...workers].map((place) => place.stop()));
  onTestFinished(async () => void (await stop()));
  await until(() => [...web, ...workers].every(({ isReady }) => isReady), "all are ready");

  const start = performance.now();
  const crashes = crashing(database, crashEvery, () => {
    // A worker may not know of the job that it has just locked, which stays locked while the worker lives.
    if (variant === "Graphile Worker") for (const place of workers) place.kill();
  });
  const { acknowledged, requests } = await send(load, web, (count) => crashes.acknowledged(count));
  await crashes.over();
  await until(async () => {
    if (variant === "Graphile Worker") {
      // Does not wait for the next attempt, which may be minutes away.
      await pool
        .query("update graphile_worker._private_jobs set run_at = now() where locked_at is null")
        .catch(() => {});
    }
    const left = await pool.query<{ count: number }>(countJobs(variant)).catch(() => undefined);
    return left?.rows[0]?.count === 0;
  }, "all jobs are done");
  const seconds = Math.round((performance.now() - start) / 1_000);

  await stop();
  const verdict = await verdictOf(pool, events, judge);
  const { rows, uncharged, underTwoKeys, beforeTheRow, repeated } = verdict;
  return {
    ...verdict,
    acknowledged,
    killed: judge.killed(),
    crashes: crashes.count(),
    summary: `seed ${seed}: ${variant}: ${acknowledged} acknowledged in ${requests} requests, ${judge.killed()} killed at points, ${monkey.kills()} at any time, ${crashes.count()} crashes of the database, ${seconds} s; rows: ${rows.lost} lost, ${rows.twice} twice; orders: ${uncharged} not charged, ${underTwoKeys} under two keys, ${beforeTheRow} before the row, ${repeated} repeated under one key`,
  };
}
