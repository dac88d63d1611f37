import { codeOf, WebhookError } from "@svc-webhooks/core";
import { within } from "@svc-webhooks/core/engine";
import { errorText } from "@svc-webhooks/core/inbox";
import type { BossDatabase, PgBossLike } from "../pg-boss-like.js";

/** How long a delivery or a worker waits for a reply of the server, in milliseconds. */
const replyMs = 5_000;
/** How long an operator waits for one: counting or listing very many jobs takes longer. */
export const operatorMs = 10_000;

/** How long the server may take to say which of its statements run, in milliseconds. */
const probeMs = 3_000;

/** The members of the pool of `pg` that pg-boss creates, unless it got a database as its option `db`. */
interface BossPool {
  readonly idleCount: number;
  readonly options: object;
  readonly Client: new (options: object) => BossClient;
  query(text: string): Promise<unknown>;
  on(event: "acquire", listener: (client: BossClient) => void): unknown;
  on(event: "release", listener: (error: unknown, client: BossClient) => void): unknown;
}

/** A client of `pg`. While a statement has no reply, `end` closes its socket. */
interface BossClient {
  /** The process of the server. */
  readonly processID?: number;
  connect(): Promise<unknown>;
  query(text: string): Promise<{ readonly rows: readonly { readonly pid: number }[] }>;
  on(event: "error", listener: () => void): unknown;
  end(): Promise<unknown>;
}

/** The functions that replace the dead connections of pools. */
const replacers = new WeakMap<BossPool, () => void>();

/**
 * Returns what replaces the dead connections of a database: a connection that dies silently never settles its statement,
 * and pg-boss waits for it. Undefined for a database of the application, the option `db` of pg-boss.
 */
function replacerOf(database: BossDatabase): (() => void) | undefined {
  const { pool } = Object(database) as { readonly pool?: BossPool };
  if (typeof pool?.on !== "function" || typeof pool.query !== "function") return undefined;
  const known = replacers.get(pool);
  if (known) return known;
  const made = watch(pool);
  replacers.set(pool, made);
  return made;
}

/** Returns the database of `boss`, whose connections are watched from now on, so that they can be replaced. */
export function databaseOf(boss: PgBossLike): BossDatabase {
  const database = boss.getDb();
  replacerOf(database);
  return database;
}

/** Watches the statements of a pool, and returns the function that replaces its dead connections. */
function watch(pool: BossPool): () => void {
  /** The clients whose statements have not ended, and since when. */
  const busy = new Map<BossClient, number>();
  const isLate = (client: BossClient) =>
    performance.now() - (busy.get(client) ?? Infinity) >= replyMs;
  let isEnding = false;
  /** Ends the clients whose connection is dead: their statement rejects, and the pool makes other ones. */
  const end = async () => {
    if (isEnding || ![...busy.keys()].some(isLate)) return;
    isEnding = true;
    const isRunning = await runningOn(pool);
    isEnding = false;
    for (const client of busy.keys()) {
      if (!isLate(client) || isRunning(client)) continue;
      busy.delete(client);
      client.end().catch(() => {});
    }
  };
  let timer: NodeJS.Timeout | undefined;
  /** Looks for dead connections until no client is busy: pg-boss may be the only one that waits for a statement. */
  const look = () => {
    timer = undefined;
    void end();
    if (busy.size > 0) arm();
  };
  const arm = () => {
    timer ??= setTimeout(look, replyMs).unref();
  };
  pool.on("acquire", (client) => {
    busy.set(client, performance.now());
    arm();
  });
  pool.on("release", (_error, client) => void busy.delete(client));
  let isAsking = false;
  return () => {
    void end();
    if (isAsking) return;
    isAsking = true;
    // The idle connections may have died too, and those that were taken a moment ago.
    for (let idle = pool.idleCount; idle > 0; idle -= 1) pool.query("select 1").catch(() => {});
    setTimeout(() => {
      isAsking = false;
    }, replyMs).unref();
  };
}

/**
 * Resolves to whether the server still runs the statement of a client, as it does behind a lock: to end such a client
 * would leave the statement there, and use another connection. The server is asked over a connection of its own. Never
 * rejects.
 */
async function runningOn({ Client, options }: BossPool): Promise<(client: BossClient) => boolean> {
  let probe: BossClient | undefined;
  try {
    probe = new Client({ ...options, connectionTimeoutMillis: probeMs, query_timeout: probeMs });
    probe.on("error", () => {});
    await probe.connect();
    const { rows } = await probe.query(
      "select pid from pg_catalog.pg_stat_activity where state operator(pg_catalog.=) 'active'",
    );
    const pids = new Set(rows.map(({ pid }) => pid));
    return ({ processID = 0 }) => pids.has(processID);
  } catch (error) {
    // A server that refuses a connection, for example because it has too many, may run all of them.
    const isRefusal = (Object(error) as { readonly severity?: unknown }).severity !== undefined;
    return () => isRefusal;
  } finally {
    probe?.end().catch(() => {});
  }
}

/**
 * Calls pg-boss or its database, for `ms` at most. If the server does not reply, the connections without a reply are
 * replaced.
 *
 * @throws WebhookError `queue_unavailable`
 */
export async function replyTo<Reply>(
  boss: PgBossLike,
  call: () => Promise<Reply>,
  ms: number = replyMs,
): Promise<Reply> {
  try {
    return await within(call(), ms);
  } catch (error) {
    const text = errorText(error);
    // A full pool refuses a call sooner. A connection that was replaced rejects its statement.
    const isLost = /timeout exceeded when trying to connect|Connection terminated/.test(text);
    if (isLost || codeOf(error) === "queue_unavailable") replace(boss);
    if (!isLost) throw error;
    throw new WebhookError(
      "queue_unavailable",
      `The queue has no connection to its server: ${text}.`,
      {
        cause: error,
      },
    );
  }
}

function replace(boss: PgBossLike): void {
  try {
    replacerOf(boss.getDb())?.();
  } catch {
    // `boss` has not started.
  }
}
