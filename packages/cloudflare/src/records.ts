import type {
  ClaimRequest,
  ClaimResult,
  CompleteResult,
  RecordState,
  ReleaseRequest,
} from "@svc-webhooks/core";
import { DurableObject } from "cloudflare:workers";

/** How long expired records may remain before they are removed. */
const purgeMs = 3_600_000;

/** The largest `retainMs` of a receiver. */
const longestMs = 31_536_000_000;

type Row = {
  readonly state: RecordState;
  readonly token: string;
  readonly lineage: string | null;
  readonly lease_ends_at: number;
  readonly expires_at: number;
  readonly fence: number;
  readonly run: number;
};

/**
 * One shard of the records. Export the class from your Worker's module and bind it with SQLite storage.
 *
 * Each call is one synchronous read and write, and an object runs one call at a time, so calls are
 * atomic. Times are milliseconds of the object's clock.
 */
export class DeliveryRecords extends DurableObject {
  readonly #sql = this.ctx.storage.sql;
  #hasAlarm = false;

  constructor(context: DurableObjectState, env: Cloudflare.Env) {
    super(context, env);
    this.#sql.exec(`CREATE TABLE IF NOT EXISTS records (
      key TEXT PRIMARY KEY, state TEXT NOT NULL, token TEXT NOT NULL, lineage TEXT,
      lease_ends_at INTEGER NOT NULL, expires_at INTEGER NOT NULL,
      fence INTEGER NOT NULL, run INTEGER NOT NULL
    ) WITHOUT ROWID`);
    this.#sql.exec("CREATE INDEX IF NOT EXISTS by_expiry ON records (expires_at)");
    this.#sql.exec("CREATE TABLE IF NOT EXISTS layout (shards INTEGER NOT NULL)");
  }

  /** Returns the object's clock in epoch milliseconds. Tests override it. */
  now(): number {
    return Date.now();
  }

  claim(key: string, { token, leaseMs, retainMs, lineage, takeParked }: ClaimRequest): ClaimResult {
    const now = this.now();
    const row = this.#find(key, now);
    if (row?.state === "done" || (row?.state === "parked" && !takeParked)) {
      return { status: row.state, lineage: row.lineage ?? undefined };
    }
    if (row && isLeased(row, now)) {
      // Otherwise a clock that was set back would keep a dead claim alive.
      const lease_ends_at = Math.min(row.lease_ends_at, now + leaseMs);
      if (lease_ends_at < row.lease_ends_at) this.#put(key, { ...row, lease_ends_at });
      return row.token === token
        ? { status: "claimed", fence: row.fence, run: row.run }
        : { status: "busy", leaseLeftMs: lease_ends_at - now };
    }
    const run = row?.state === "parked" ? 1 : (row?.run ?? 0) + 1;
    const fence = Math.max((row?.fence ?? 0) + 1, now);
    this.#put(key, {
      state: "running",
      token,
      lineage: lineage ?? null,
      lease_ends_at: now + leaseMs,
      expires_at: now + retainMs,
      fence,
      run,
    });
    return { status: "claimed", fence, run, takenOver: row?.state === "running" };
  }

  complete(key: string, { token, retainMs, lineage = "" }: ClaimRequest): CompleteResult {
    const now = this.now();
    const row = this.#find(key, now);
    const already = row?.state === "done";
    const by = already ? row.lineage : lineage || null;
    const expires_at = now + retainMs;
    this.#put(key, { ...idle, state: "done", lineage: by, expires_at, fence: 0, run: 0 });
    if (!row) return "restored";
    if (already) return "already";
    return isOwned(row, token) ? "owner" : "late";
  }

  release(key: string, { token, retainMs, to }: ReleaseRequest): boolean {
    const now = this.now();
    const row = this.#find(key, now);
    if (!row || !isOwned(row, token)) return false;
    const state = to === "parked" ? "parked" : "failed";
    const run = row.run - (to === "unused" ? 1 : 0);
    this.#put(key, { ...row, ...idle, state, run, expires_at: now + retainMs });
    return true;
  }

  extend(key: string, { token, leaseMs }: ClaimRequest): boolean {
    const now = this.now();
    const row = this.#find(key, now);
    if (!row || !isOwned(row, token)) return false;
    const lease_ends_at = now + leaseMs;
    const expires_at = Math.max(row.expires_at, lease_ends_at);
    this.#put(key, { ...row, lease_ends_at, expires_at });
    return true;
  }

  forget(key: string): boolean {
    const now = this.now();
    const row = this.#find(key, now);
    if (!row || isLeased(row, now)) return false;
    this.#sql.exec("DELETE FROM records WHERE key = ?", key);
    return true;
  }

  /** Returns the states of this shard's records, in the order of the keys. Only reads. */
  peek(keys: readonly string[]): readonly (RecordState | undefined)[] {
    const now = this.now();
    const found = this.#sql.exec<Pick<Row, "state" | "lease_ends_at"> & { key: string }>(
      `SELECT key, state, lease_ends_at FROM records
       WHERE key IN (SELECT value FROM json_each(?)) AND expires_at > ?`,
      JSON.stringify(keys),
      now,
    );
    const states = new Map<string, RecordState>();
    for (const row of found) {
      states.set(row.key, row.state === "running" && !isLeased(row, now) ? "failed" : row.state);
    }
    return keys.map((key) => states.get(key));
  }

  /**
   * Called on the first shard: stores the first number it receives, and returns the stored number, or undefined if there
   * is none.
   */
  agreeOnShards(shards: number | undefined): number | undefined {
    const [known] = this.#sql.exec<{ shards: number }>("SELECT shards FROM layout").toArray();
    if (!known && shards) this.#sql.exec("INSERT INTO layout VALUES (?)", shards);
    return known?.shards ?? shards;
  }

  override async alarm(): Promise<void> {
    this.#hasAlarm = false;
    const now = this.now();
    this.#sql.exec("DELETE FROM records WHERE expires_at <= ?", now);
    // A record written before the clock was set back would otherwise remain until the clock catches up.
    const latest = now + longestMs;
    this.#sql.exec("UPDATE records SET expires_at = ? WHERE expires_at > ?", latest, latest);
    if (this.#sql.exec("SELECT 1 FROM records LIMIT 1").toArray().length > 0) {
      await this.#setAlarm();
    }
  }

  #find(key: string, now: number): Row | undefined {
    const found = this.#sql.exec<Row>(
      `SELECT state, token, lineage, lease_ends_at, expires_at, fence, run
       FROM records WHERE key = ? AND expires_at > ?`,
      key,
      now,
    );
    return found.toArray()[0];
  }

  #put(key: string, row: Row): void {
    this.#sql.exec(
      "INSERT OR REPLACE INTO records VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
      key,
      row.state,
      row.token,
      row.lineage,
      row.lease_ends_at,
      row.expires_at,
      row.fence,
      row.run,
    );
    this.ctx.waitUntil(this.#setAlarm());
  }

  async #setAlarm(): Promise<void> {
    if (this.#hasAlarm) return;
    this.#hasAlarm = true;
    // An alarm may be left from before an eviction; if it were postponed each time, it would never fire.
    const { storage } = this.ctx;
    if ((await storage.getAlarm()) === null) await storage.setAlarm(Date.now() + purgeMs);
  }
}

/** The fields of a record that has no owner. */
const idle = { token: "", lease_ends_at: 0 };

const isOwned = ({ state, token }: Row, by: string) => state === "running" && token === by;

const isLeased = ({ state, lease_ends_at }: Pick<Row, "state" | "lease_ends_at">, now: number) =>
  state === "running" && now < lease_ends_at;
