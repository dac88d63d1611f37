import { entryOf } from "@svc-webhooks/core/engine";
import type { InboxEntry, InboxState, InboxStats, RetryDelays } from "@svc-webhooks/core/inbox";
import { valuesOf } from "../connection/connection.js";
import type { SqliteInboxDatabase, SqliteValue } from "../database.js";
import { assertKnown, versionIn } from "../schema/schema.js";
import { bytesOf } from "../store/wire.js";

/** A job that a worker has taken. Only this attempt of this worker may settle it. */
export interface TakenJob {
  readonly key: Uint8Array;
  readonly attempts: number;
  readonly data: unknown;
}

/** A job with its number in the order of acceptance. */
export interface NumberedEntry {
  readonly seq: number;
  readonly entry: InboxEntry;
}

/** How long a job stays taken without a heartbeat, in milliseconds. */
export const leaseMs = 10_000;

const table = "svc_webhooks_jobs";

/** Matches a job only while this attempt of this worker owns it. */
const owned = "key = ? and taken_by = ? and attempts = ?";

/** Whether another job of the part comes before `one`, or may run now. */
const waits = `exists (select 1 from ${table} other
  where other.queue = one.queue and other.part = one.part and other.seq <> one.seq
    and (other.due_at is not null or (other.seq < one.seq and (other.died_at is null or other.holds))))`;

/** The columns of an entry. Their first value is the time. */
const columns = `key, case when died_at is not null then 'dead' when due_at is null or due_at <= ? then 'ready'
  when taken_by is null then 'delayed' else 'active' end, stored_at, attempts, error, job, seq`;

/** The statements of an inbox. Times are epoch milliseconds. */
const statements = {
  version: "pragma data_version",
  triggers: "select name from sqlite_master where type = 'trigger' and name like 'svc_webhooks_%'",

  isAlive: `select died_at is null from ${table} where key = ?`,
  isDone: "select 1 from svc_webhooks_deliveries where key = ? and state = 'd' and expires_at > ?",
  leave: `delete from ${table} where key = ? and died_at is not null and queue <> ?`,
  add: `insert into ${table} (queue, key, part, stored_at, due_at, job)
    select one.queue, ?, one.part, one.now, case when one.part is null or not exists (
      select 1 from ${table} other
      where other.queue = one.queue and other.part = one.part and (other.died_at is null or other.holds)
    ) then one.now end, ?
    from (select ? as queue, ? as part, ? as now) one where true on conflict (key) do nothing`,
  revive: `update ${table} as one set died_at = null, holds = 0, attempts = 0, error = null,
    due_at = case when one.part is null or not ${waits} then ? end
    where key = ? and queue = ? and died_at is not null`,
  hasten: `update ${table} set due_at = ?
    where key = ? and queue = ? and died_at is null and due_at > ? and taken_by is null`,
  discard: `delete from ${table} where key = ? and queue = ? and died_at is not null`,

  nextDue: `select min(due_at) from ${table} where queue = ? and died_at is null and due_at is not null`,
  due: `select key, attempts, taken_by is not null, job from ${table}
    where queue = ? and died_at is null and due_at <= ? order by due_at, taken_by, seq limit ?`,
  take: `update ${table} set taken_by = ?, due_at = ? where key = ?`,
  lapse: `update ${table} set taken_by = null, attempts = attempts + 1, due_at = ?,
    error = 'The worker that ran this job ended or froze.' where key = ?`,
  owns: `select 1 from ${table} where ${owned}`,
  extend: `update ${table} set due_at = ? where ${owned}`,
  giveBack: `update ${table} set taken_by = null, due_at = ? where ${owned}`,
  remove: `delete from ${table} where ${owned}`,
  delay: `update ${table} set taken_by = null, attempts = attempts + 1, due_at = ?, error = ? where ${owned}`,
  bury: `update ${table} set taken_by = null, attempts = min(attempts + 1, ?), due_at = null, error = ?,
    died_at = ?, holds = ? where ${owned}`,

  hasLater: `select ifnull((select stored_at from ${table} order by seq desc limit 1), 0) > now or exists (
      select 1 from ${table} where queue = one.queue and died_at is null and due_at > now
        and case when taken_by is null then attempts = 0 else due_at > now + ${leaseMs} end
    ) from (select ? as queue, ? as now) one`,
  storedLater: `update ${table} set stored_at = ? where queue = ? and stored_at > ?`,
  dueLater: `update ${table} set due_at = ?
    where queue = ? and died_at is null and due_at > ? and attempts = 0 and taken_by is null`,
  leasedLater: `update ${table} set due_at = ?
    where queue = ? and died_at is null and due_at > ? and taken_by is not null`,

  stats: `select count(*) filter (where died_at is null and (due_at is null or due_at <= now)),
    count(*) filter (where died_at is null and due_at > now and taken_by is null),
    count(*) filter (where died_at is null and due_at > now and taken_by is not null),
    count(died_at), min(seq) filter (where died_at is null and (due_at is null or due_at <= now))
    from ${table}, (select ? as now) where queue = ?`,
  storedAt: `select stored_at from ${table} where seq = ?`,
  held: `select count(distinct part) from ${table} dead
    where queue = ? and died_at is not null and holds and part is not null and exists (
      select 1 from ${table} other
      where other.queue = dead.queue and other.part = dead.part and other.died_at is null
    )`,
  get: `select ${columns} from ${table} where key = ? and queue = ?`,
  living: `select ${columns} from ${table}
    where +queue = ? and seq > ? and +died_at is null order by seq limit 100`,
  dead: `select ${columns} from ${table}
    where queue = ? and seq > ? and died_at is not null and died_at <= ? order by seq limit 100`,
  oldestDead: `select min(died_at) from ${table} where queue = ? and died_at is not null`,
} as const;

type Name = keyof typeof statements;

/** The jobs of a queue, with one method for each operation. Methods that write must run in a transaction. */
export class Jobs {
  readonly #db: SqliteInboxDatabase;
  readonly #queue: string;
  readonly #prepared = new Map<Name, ReturnType<SqliteInboxDatabase["prepare"]>>();

  constructor(db: SqliteInboxDatabase, queue: string) {
    this.#db = db;
    this.#queue = queue;
  }

  /** Discards the prepared statements of a connection that was closed. */
  forgetStatements(): void {
    this.#prepared.clear();
  }

  /** Returns a number that changes whenever another connection commits. */
  readonly version = (): unknown => this.#values("version")[0];

  readonly triggers = (): readonly string[] =>
    this.#rows("triggers").map((row) => String(valuesOf(row)[0]));

  /** Returns whether an event needs no new job: it has one that is not dead, or is done in this file. */
  isKnown(key: Uint8Array): boolean {
    const [isAlive] = this.#values("isAlive", key);
    if (isAlive !== undefined) return Boolean(Number(isAlive));
    return this.#values("isDone", key, Date.now()).length > 0;
  }

  /** Stores a job, or runs its dead letter again, also that of another queue. A job that is not dead stays as it is. */
  add(key: Uint8Array, part: string | undefined, job: string): void {
    this.#run("leave", key, this.#queue);
    this.#run("add", key, job, this.#queue, part ?? null, Date.now());
    this.#run("revive", Date.now(), key, this.#queue);
  }

  /** Runs a dead letter again, or a delayed job now. Returns whether it was one of them. */
  retry(id: string): boolean {
    const key = bytesOf(id);
    const now = Date.now();
    return (
      this.#run("revive", now, key, this.#queue) || this.#run("hasten", now, key, this.#queue, now)
    );
  }

  readonly discard = (id: string): boolean => this.#run("discard", bytesOf(id), this.#queue);

  /** Returns when the next job may run. Infinity if there is none. */
  nextDueAt(): number {
    const [at] = this.#values("nextDue", this.#queue);
    return at === null ? Infinity : Number(at);
  }

  /**
   * Takes up to `count` due jobs. A job that is due and taken had a worker that ended: it waits first, like a job whose
   * attempt has failed, because it may be the one that ended the worker.
   */
  take(worker: string, count: number, { delayMs }: RetryDelays): readonly TakenJob[] {
    const now = Date.now();
    const taken: TakenJob[] = [];
    for (const row of this.#rows("due", this.#queue, now, count)) {
      const [key, ended, isLapsed, job] = valuesOf(row) as [Uint8Array, unknown, unknown, string];
      const attempts = Number(ended);
      if (Number(isLapsed)) this.#run("lapse", now + delayMs(attempts + 1), key);
      else {
        this.#run("take", worker, now + leaseMs, key);
        taken.push({ key, attempts, data: parsed(job) });
      }
    }
    return taken;
  }

  // Each of the following functions does nothing and returns false if the job is no longer this attempt's.
  readonly owns = (worker: string, { key, attempts }: TakenJob): boolean =>
    this.#values("owns", key, worker, attempts).length > 0;
  readonly extend = (worker: string, { key, attempts }: TakenJob): boolean =>
    this.#run("extend", Date.now() + leaseMs, key, worker, attempts);
  readonly giveBack = (worker: string, { key, attempts }: TakenJob, afterMs: number): boolean =>
    this.#run("giveBack", Date.now() + afterMs, key, worker, attempts);
  readonly remove = (worker: string, { key, attempts }: TakenJob): boolean =>
    this.#run("remove", key, worker, attempts);
  delay(worker: string, { key, attempts }: TakenJob, afterMs: number, error: string): boolean {
    return this.#run("delay", Math.ceil(Date.now() + afterMs), error, key, worker, attempts);
  }
  bury(
    worker: string,
    { key, attempts }: TakenJob,
    error: string,
    limit: number,
    holds: boolean,
  ): boolean {
    return this.#run("bury", limit, error, Date.now(), holds ? 1 : 0, key, worker, attempts);
  }

  /** Returns whether jobs wait longer than they should, because the clock was set back. Only reads. */
  readonly hasLater = (): boolean =>
    Number(this.#values("hasLater", this.#queue, Date.now())[0]) > 0;

  /** Ends such waits. The pause after a failed attempt stays. */
  followClock(): void {
    const now = Date.now();
    this.#run("storedLater", now, this.#queue, now);
    this.#run("dueLater", now, this.#queue, now);
    this.#run("leasedLater", now + leaseMs, this.#queue, now + leaseMs);
  }

  stats(isOrdered: boolean): InboxStats {
    const now = Date.now();
    const [ready, delayed, active, dead, seq] = this.#values("stats", now, this.#queue);
    const storedAt = seq === null ? undefined : this.#values("storedAt", Number(seq))[0];
    return {
      ready: Number(ready),
      delayed: Number(delayed),
      active: Number(active),
      dead: Number(dead),
      oldestMs: storedAt === undefined ? undefined : Math.max(0, now - Number(storedAt)),
      ...(isOrdered && { heldKeys: Number(this.#values("held", this.#queue)[0]) }),
    };
  }

  get(id: string): NumberedEntry | undefined {
    const values = this.#values("get", Date.now(), bytesOf(id), this.#queue);
    return values.length > 0 ? entryFrom(values) : undefined;
  }

  /** Returns up to 100 jobs after a number that are not dead. */
  readonly living = (after: number): readonly NumberedEntry[] =>
    this.#rows("living", Date.now(), this.#queue, after).map((row) => entryFrom(valuesOf(row)));

  /** Returns up to 100 dead letters after a number that died until then. */
  readonly dead = (after: number, until: number): readonly NumberedEntry[] =>
    this.#rows("dead", Date.now(), this.#queue, after, until).map((row) =>
      entryFrom(valuesOf(row)),
    );

  oldestDeadAt(): number {
    const [at] = this.#values("oldestDead", this.#queue);
    return at === null ? Infinity : Number(at);
  }

  /** Prepares a statement when it is first used, because the tables may not exist when the inbox is created. */
  #statement(name: Name) {
    let statement = this.#prepared.get(name);
    if (!statement) {
      if (this.#prepared.size === 0) assertKnown(versionIn(this.#db));
      this.#prepared.set(name, (statement = this.#db.prepare(statements[name])));
    }
    return statement;
  }

  #values(name: Name, ...values: SqliteValue[]): readonly unknown[] {
    return valuesOf(this.#statement(name).get(...values));
  }

  #rows(name: Name, ...values: SqliteValue[]): readonly unknown[] {
    return this.#statement(name).all(...values) as readonly unknown[];
  }

  #run(name: Name, ...values: SqliteValue[]): boolean {
    const { changes } = this.#statement(name).run(...values) as { changes: number | bigint };
    return changes > 0;
  }
}

function entryFrom([key, state, storedAt, attempts, error, job, seq]: readonly unknown[]) {
  const entry: InboxEntry = {
    ...entryOf(parsed(job as string), Number(storedAt)),
    id: Buffer.from(key as Uint8Array).toString("hex"),
    state: state as InboxState,
    attempts: Number(attempts),
    ...(typeof error === "string" && { error }),
  };
  return { seq: Number(seq), entry };
}

function parsed(job: string): unknown {
  try {
    return JSON.parse(job);
  } catch {
    // Another application has stored it.
    return undefined;
  }
}
