import type {
  ClaimRequest,
  ClaimResult,
  CompleteResult,
  RecordState,
  ReleaseRequest,
} from "@svc-webhooks/core";
import { next, stateOf, type Change, type StoredRecord } from "@svc-webhooks/core/store-rules";
import { DurableObject } from "cloudflare:workers";

/** The time between two removals of expired records, in milliseconds. */
const purgeMs = 3_600_000;

/** The largest `retainMs` that a receiver accepts, in milliseconds. */
const longestMs = 31_536_000_000;

const columns = `key, state, token, lineage, lease_ends_at AS "leaseEndsAt", expires_at AS "expiresAt", fence, run`;

type Row = {
  readonly key: string;
  readonly state: RecordState;
  readonly token: string;
  readonly lineage: string | null;
  readonly leaseEndsAt: number;
  readonly expiresAt: number;
  readonly fence: number;
  readonly run: number;
};

/**
 * One shard of the records. Export the class from your Worker's module and bind it with SQLite storage.
 *
 * Each call reads and writes synchronously, and an object runs one call at a time, so calls are atomic. Times are epoch
 * milliseconds of the object's clock.
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

  claim(key: string, request: ClaimRequest): ClaimResult {
    return this.#next("claim", key, request);
  }

  complete(key: string, request: ClaimRequest): CompleteResult {
    return this.#next("complete", key, request);
  }

  release(key: string, request: ReleaseRequest): boolean {
    return this.#next("release", key, request);
  }

  extend(key: string, request: ClaimRequest): boolean {
    return this.#next("extend", key, request);
  }

  forget(key: string): boolean {
    return this.#next("forget", key, undefined);
  }

  /** Returns the states of the records with these keys, in the order of the keys, without changing them. */
  peek(keys: readonly string[]): readonly (RecordState | undefined)[] {
    const now = this.now();
    const rows = this.#sql.exec<Row>(
      `SELECT ${columns} FROM records WHERE key IN (SELECT value FROM json_each(?))`,
      JSON.stringify(keys),
    );
    const states = new Map(Array.from(rows, (row) => [row.key, stateOf(row, now)]));
    return keys.map((key) => states.get(key));
  }

  /**
   * Called only on the first shard. Stores the first number that it receives, and returns the stored number, or
   * undefined if there is none.
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
    // Limits each expiry to the longest retention from now. Otherwise, a record that was stored before the clock was
    // set back would remain until the clock catches up.
    const latest = now + longestMs;
    this.#sql.exec("UPDATE records SET expires_at = ? WHERE expires_at > ?", latest, latest);
    if (this.#sql.exec("SELECT 1 FROM records LIMIT 1").toArray().length > 0) {
      await this.#setAlarm();
    }
  }

  #next: Change<string> = (call, key, request) => {
    const rows = this.#sql.exec<Row>(`SELECT ${columns} FROM records WHERE key = ?`, key);
    const [result, record] = next(call, rows.toArray()[0], request, this.now());
    if (record) this.#put({ ...record, key });
    if (record === null) this.#sql.exec("DELETE FROM records WHERE key = ?", key);
    return result;
  };

  #put(row: StoredRecord & { readonly key: string }): void {
    this.#sql.exec(
      "INSERT OR REPLACE INTO records VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
      row.key,
      row.state,
      row.token ?? "",
      row.lineage ?? null,
      row.leaseEndsAt,
      row.expiresAt,
      row.fence,
      row.run,
    );
    this.ctx.waitUntil(this.#setAlarm());
  }

  async #setAlarm(): Promise<void> {
    if (this.#hasAlarm) return;
    this.#hasAlarm = true;
    // Keeps an existing alarm, which may have been set before the object was evicted from memory. If each call
    // postponed the alarm, it would not fire while calls keep arriving.
    const { storage } = this.ctx;
    if ((await storage.getAlarm()) === null) await storage.setAlarm(Date.now() + purgeMs);
  }
}
