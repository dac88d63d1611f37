import { WebhookError } from "@svc-webhooks/core";
import { codeOf } from "@svc-webhooks/core/adapter";
import { within } from "@svc-webhooks/core/engine";
import { errorText } from "@svc-webhooks/core/inbox";
import type { BossDatabase, PgBossLike } from "../pg-boss-like.js";

/** How long a delivery or a worker waits for a reply from the server, in milliseconds. */
const replyMs = 5_000;
/**
 * How long an operator waits for a reply, in milliseconds. Longer than `replyMs`, because the server may have to count
 * or list very many jobs.
 */
export const operatorMs = 10_000;

/** How long to wait for the server's list of running statements, in milliseconds. */
const probeMs = 3_000;

/** The members of pg-boss's `pg` pool that an inbox uses. pg-boss creates the pool unless its option `db` is set. */
interface BossPool {
  readonly idleCount: number;
  readonly options: object;
  readonly Client: new (options: object) => BossClient;
  query(text: string): Promise<unknown>;
  on(event: "acquire", listener: (client: BossClient) => void): unknown;
  on(event: "release", listener: (error: unknown, client: BossClient) => void): unknown;
}

/** A client of `pg`. If a statement is still waiting for a reply, `end` closes the socket. */
interface BossClient {
  /** The id of the server process that serves the client. */
  readonly processID?: number;
  connect(): Promise<unknown>;
  query(text: string): Promise<{ readonly rows: readonly { readonly pid: number }[] }>;
  on(event: "error", listener: () => void): unknown;
  end(): Promise<unknown>;
}

/** Maps each pool to the function that replaces its dead connections. */
const replacers = new WeakMap<BossPool, () => void>();

/**
 * Returns the function that replaces the dead connections of a database. Statements on a dead connection never settle,
 * so pg-boss would wait for them forever. Undefined for a database that the application passed as pg-boss's option
 * `db`.
 */
function replacerOf(database: BossDatabase): (() => void) | undefined {
  const { pool } = Object(database) as { readonly pool?: BossPool };
  if (typeof pool?.on !== "function" || typeof pool.query !== "function") return undefined;
  const known = replacers.get(pool);
  if (known) return known;
  const replacer = watch(pool);
  replacers.set(pool, replacer);
  return replacer;
}

/** Returns the database of `boss`, and starts watching its connections so that dead ones can be replaced. */
export function databaseOf(boss: PgBossLike): BossDatabase {
  const database = boss.getDb();
  replacerOf(database);
  return database;
}

/** Starts watching the statements of a pool, and returns the function that replaces its dead connections. */
function watch(pool: BossPool): () => void {
  /** Maps each client that is in use to the time at which it was acquired. */
  const busy = new Map<BossClient, number>();
  const isLate = (client: BossClient) =>
    performance.now() - (busy.get(client) ?? Infinity) >= replyMs;
  let isEnding = false;
  /** Ends the clients whose connections are dead. Their statements reject, and the pool creates new clients. */
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
  /**
   * Looks for dead connections every `replyMs` until no client is busy, because pg-boss may be the only caller that
   * waits.
   */
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
    // Sends a statement over each idle connection, because those may have died too: `look` then ends the dead ones.
    for (let idle = pool.idleCount; idle > 0; idle -= 1) pool.query("select 1").catch(() => {});
    setTimeout(() => {
      isAsking = false;
    }, replyMs).unref();
  };
}

/**
 * Resolves to a function that returns whether the server still runs a client's statement, for example because the
 * statement waits for a lock. Ending such a client would not end the statement, and its replacement would take another
 * connection. The query uses a separate connection. Never rejects.
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
    // If the server refuses the connection, for example because it has too many connections, all statements may still
    // run.
    const isRefusal = (Object(error) as { readonly severity?: unknown }).severity !== undefined;
    return () => isRefusal;
  } finally {
    probe?.end().catch(() => {});
  }
}

/**
 * Calls pg-boss or its database, and waits at most `ms` milliseconds. If no reply arrives, replaces the connections
 * that wait for one.
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
    // These errors mean a lost connection too: a pool without a free client, and a statement whose client was ended.
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
    // There is nothing to replace, because `boss` has not started.
  }
}
