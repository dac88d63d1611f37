import type { ChildProcess } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { setTimeout as pause } from "node:timers/promises";
import { pgBossInbox } from "@svc-webhooks/pg-boss";
import { migrate } from "@svc-webhooks/postgres";
import { eventBody, signed } from "@svc-webhooks/kit/deliveries";
import { postgresServer } from "@svc-webhooks/kit/postgres-server";
import { Progress } from "@svc-webhooks/kit/progress";
import { seeded, type Random } from "@svc-webhooks/kit/random";
import { tcpProxy } from "@svc-webhooks/kit/tcp-proxy";
import { Pool } from "pg";
import { bundled, startChild } from "../../../faults/processes/child.js";
import { mostCalmMs } from "../../../faults/processes/monkey.js";
import { bossOf } from "../boss.js";

/** The settings of one process. */
export interface Settings {
  readonly role: "acceptor" | "worker";
  readonly connectionString: string;
  readonly queue: string;
  readonly inOrder: boolean;
  readonly inTransaction: boolean;
}

/** The parameters of a run. */
export interface Load {
  readonly seed: string;
  /** The least number of events. More are sent until there were enough strikes. */
  readonly events: number;
  /** The least number of kills, and of freezes. Default 0. */
  readonly strikes?: number;
  readonly inOrder: boolean;
  /** The number of acknowledged events between crashes of the database, or silent deaths of all connections. */
  readonly strikeEvery: number;
  /** Whether effects are written in `store.transaction`. Default true. */
  readonly inTransaction?: boolean | undefined;
}

/** The numbers of a run. */
export interface Result {
  readonly lost: number;
  readonly twice: number;
  readonly outOfOrder: number;
  readonly left: number;
  /** The errors of the dead letters. */
  readonly dead: readonly (string | undefined)[];
  readonly summary: string;
}

const leaseMs = 10_000;

/** The time after which a supervisor ends a process that has not become ready, in milliseconds. */
const startMs = 60_000;

/** A place of a process, which is restarted after a kill. */
class Place {
  readonly #script: string;
  readonly #settings: Settings;
  process!: ChildProcess;
  port = 0;

  constructor(script: string, settings: Settings) {
    this.#script = script;
    this.#settings = settings;
  }

  async start(attemptsLeft = 20): Promise<void> {
    try {
      ({ process: this.process, port: this.port } = await startChild(
        this.#script,
        this.#settings,
        startMs,
      ));
    } catch (error) {
      // The database may have crashed while the process started, or the process has waited for a reply on a connection
      // that died silently.
      if (attemptsLeft === 0) throw error;
      await this.start(attemptsLeft - 1);
    }
  }

  async kill(): Promise<void> {
    const exited = once(this.process, "exit");
    this.process.kill("SIGKILL");
    await exited;
  }
}

/**
 * Kills and freezes processes as the run progresses, crashes the database, and silences the connections to it, until it
 * is stopped.
 */
function unleash(
  places: readonly Place[],
  random: Random,
  database: { crash(): Promise<void>; restart(): Promise<void>; silence(): unknown },
  progress: Progress,
  strikeEvery: number,
) {
  const counts = { kills: 0, freezes: 0, crashes: 0, silences: 0 };
  const pending = new Map<Place, Promise<void>>();
  const stopped = new AbortController();
  const { signal } = stopped;
  const strike = async (place: Place) => {
    if (random.chance(0.4)) {
      counts.freezes += 1;
      place.process.kill("SIGSTOP");
      // Beyond the lease, so that another worker runs the job meanwhile.
      await pause(leaseMs * 1.3);
      place.process.kill("SIGCONT");
    } else {
      counts.kills += 1;
      await place.kill();
      await place.start();
    }
  };
  const rage = async () => {
    while (!signal.aborted) {
      await progress.after(random.between(2, 15), signal, mostCalmMs);
      // The moment of a step is not the only one that matters.
      await pause(random.between(0, 200));
      if (signal.aborted) break;
      const place = random.pick(places);
      if (pending.has(place) || pending.size > 1) continue;
      pending.set(
        place,
        strike(place).finally(() => pending.delete(place)),
      );
    }
    await Promise.all(pending.values());
  };
  let strikes = 0;
  const disturbing = progress.every(strikeEvery, signal, async () => {
    strikes += 1;
    if (strikes % 3 === 0) {
      counts.silences += 1;
      database.silence();
    } else {
      counts.crashes += 1;
      await database.crash();
      await database.restart();
    }
  });
  const ended = Promise.all([rage(), disturbing]);
  return {
    counts,
    async stop() {
      stopped.abort();
      await ended;
    },
  };
}

interface Effect {
  readonly delivery: string;
  readonly key: string;
  /** The time of the effect, in epoch milliseconds. */
  readonly at: string;
}

/** Reads the effects in the order in which they were written. */
function judge(effects: readonly Effect[], acknowledgedAt: ReadonlyMap<string, number>) {
  const lastOf = new Map<string, { readonly index: number; readonly at: number }>();
  const seen = new Set<string>();
  let outOfOrder = 0;
  let longestWaitMs = 0;
  for (const { delivery, key, at } of effects) {
    const last = lastOf.get(key) ?? { index: -1, at: 0 };
    const index = Number(delivery.slice(4));
    if (index < last.index) outOfOrder += 1;
    // The time in which an event of the key waited and none took effect.
    const since = Math.max(acknowledgedAt.get(delivery) ?? 0, last.at);
    longestWaitMs = Math.max(longestWaitMs, Number(at) - since);
    lastOf.set(key, { index, at: Number(at) });
    seen.add(delivery);
  }
  return { seen, outOfOrder, longestWaitMs };
}

/**
 * Sends events to two acceptors, while they, three workers and the database crash and connections die silently, until
 * every event is done.
 */
export async function runChaos(load: Load): Promise<Result> {
  const { seed, events, strikes = 0, inOrder, strikeEvery, inTransaction = true } = load;
  const database = await postgresServer({ fsync: "on" });
  const { connectionString } = database;
  const proxy = await tcpProxy(database.port);
  const pool = new Pool({ connectionString, connectionTimeoutMillis: 5_000 });
  pool.on("error", () => {});
  const boss = bossOf(connectionString, { connectionTimeoutMillis: 10_000 });
  await boss.start();
  await migrate(pool);
  await pool.query(`create table effects
    (id bigint generated always as identity, delivery text, key text,
     at timestamptz default clock_timestamp())`);
  await pool.query("create table counters (id int primary key, count int default 0)");
  await pool.query("insert into counters select generate_series(0, 99)");
  const queue = "chaos";
  const options = { queue, retry: { limit: 1_000, mostMs: 2_000 } };
  const inbox = pgBossInbox(boss, { ...options, ...(inOrder && { partitionBy: () => "" }) });
  await inbox.setup();

  const script = await bundled(fileURLToPath(new URL("process.ts", import.meta.url)));
  const placeOf = (role: Settings["role"]) =>
    new Place(script, {
      role,
      connectionString: connectionString.replace(/:\d+\//, `:${proxy.port}/`),
      queue,
      inOrder,
      inTransaction,
    });
  const acceptors = [placeOf("acceptor"), placeOf("acceptor")];
  const places = [...acceptors, placeOf("worker"), placeOf("worker"), placeOf("worker")];
  await Promise.all(places.map((place) => place.start()));

  const keys = Math.max(10, Math.round(events / 40));
  const start = performance.now();
  const silence = () => proxy.abandon();
  const progress = new Progress();
  const struck = { ...database, silence };
  const monkey = unleash(places, seeded(`${seed}/monkey`), struck, progress, strikeEvery);
  const random = seeded(`${seed}/sender`);
  let requests = 0;
  const post = async (id: string, key: string, attempt: number): Promise<boolean> => {
    requests += 1;
    const { headers, body } = await signed(eventBody("email.sent", { id, key }), {
      "x-svc-delivery-id": id,
    });
    try {
      const url = `http://127.0.0.1:${random.pick(acceptors).port}/`;
      // Longer for each attempt: on a busy machine, every response could be late otherwise.
      const signal = AbortSignal.timeout(3_000 * attempt);
      const response = await fetch(url, { method: "POST", headers, body: body.toString(), signal });
      await response.arrayBuffer();
      return response.status === 200;
    } catch {
      return false;
    }
  };
  const acknowledgedAt = new Map<string, number>();
  const isMoreNeeded = () => Math.min(monkey.counts.kills, monkey.counts.freezes) < strikes;
  const sendKey = async (key: number) => {
    for (let index = key; index < events || isMoreNeeded(); index += keys) {
      const id = `dlv_${index}`;
      const copies = random.chance(0.1) ? 2 : 1;
      const send = (attempt: number) =>
        Promise.all(Array.from({ length: copies }, () => post(id, `k${key}`, attempt)));
      for (let attempt = 1; !(await send(attempt)).includes(true); attempt += 1) {
        await pause(random.between(50, 300));
      }
      acknowledgedAt.set(id, Date.now());
      progress.step();
      // Spreads the events over the time of several kills.
      await pause(random.between(0, 2_000));
    }
  };
  await Promise.all(Array.from({ length: keys }, (_, key) => sendKey(key)));
  await monkey.stop();
  const sentMs = performance.now() - start;

  let left: number;
  do {
    await pause(200);
    const { ready, delayed, active, dead } = await inbox.admin.stats();
    left = ready + delayed + active;
    if (dead > 0) break;
  } while (left > 0);
  const { rows } = await pool.query<Effect>(
    "select delivery, key, extract(epoch from at) * 1000 as at from effects order by id",
  );
  const { seen, outOfOrder, longestWaitMs } = judge(rows, acknowledgedAt);
  const dead: (string | undefined)[] = [];
  for await (const { error } of inbox.admin.list({ state: "dead" })) dead.push(error);
  const acknowledged = acknowledgedAt.size;
  const totalMs = performance.now() - start;
  await Promise.all(places.map((one) => one.kill()));
  await boss.stop({ graceful: false });
  await pool.end();
  await proxy.close();
  await database.close();
  const { kills, freezes, crashes, silences } = monkey.counts;
  const seconds = (ms: number) => Math.round(ms / 1_000);
  return {
    lost: acknowledged - seen.size,
    twice: rows.length - seen.size,
    outOfOrder,
    left,
    dead,
    summary: `seed ${seed}: ${acknowledged} acknowledged in ${requests} requests, ${kills} kills, ${freezes} freezes, ${crashes} crashes of the database, ${silences} silences; sent after ${seconds(sentMs)} s, done after ${seconds(totalMs)} s; a key waited for at most ${seconds(longestWaitMs)} s; ${rows.length} rows, ${outOfOrder} out of order`,
  };
}
