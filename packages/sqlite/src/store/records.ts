import type {
  ClaimRequest,
  ClaimResult,
  CompleteResult,
  RecordState,
  ReleaseRequest,
} from "@svc-webhooks/core";
import { valuesOf } from "../connection/connection.js";
import type { SqliteDatabase, SqliteStatement } from "../database.js";
import { TransactionLost } from "../errors.js";
import { assertKnown, versionIn } from "../schema/schema.js";
import { decoded, encoded } from "./wire.js";

/** A record that has not expired. */
interface DeliveryRecord {
  /** r running, f failed, p parked, d done. */
  readonly state: string;
  readonly expiresAt: number;
  readonly fence: number;
  readonly run: number;
  readonly leaseEndsAt: number;
  readonly token: string | null;
  readonly lineage: string | null;
}

const columns = "key, state, expires_at, fence, run, lease_ends_at, token, lineage";
const table = "svc_webhooks_deliveries";

/** How many neighbours of a claimed record are checked for expired ones. */
const neighbours = 8;

interface Statements {
  readonly find: SqliteStatement;
  readonly state: SqliteStatement;
  readonly put: SqliteStatement;
  readonly remove: SqliteStatement;
  readonly sweep: SqliteStatement;
  readonly purge: SqliteStatement;
  readonly changes: SqliteStatement;
}

function prepare(db: SqliteDatabase): Statements {
  assertKnown(versionIn(db));
  return {
    find: db.prepare(`SELECT ${columns} FROM ${table} WHERE key = ?`),
    state: db.prepare(`SELECT state, lease_ends_at FROM ${table} WHERE key = ? AND expires_at > ?`),
    put: db.prepare(`INSERT OR REPLACE INTO ${table} (${columns}) VALUES (?, ?, ?, ?, ?, ?, ?, ?)`),
    remove: db.prepare(`DELETE FROM ${table} WHERE key = ?`),
    // Keys are hashes, so each record is as likely as any other to be a neighbour of the next claim.
    sweep: db.prepare(
      `DELETE FROM ${table} WHERE key IN (SELECT key FROM ${table} WHERE key > ? ORDER BY key LIMIT ${neighbours}) AND expires_at <= ?`,
    ),
    purge: db.prepare(
      `DELETE FROM ${table} WHERE key IN (SELECT key FROM ${table} WHERE expires_at <= ? LIMIT ?)`,
    ),
    changes: db.prepare("SELECT changes()"),
  };
}

const isLeased = ({ state, leaseEndsAt }: DeliveryRecord, now: number) =>
  state === "r" && now < leaseEndsAt;

const isOwned = ({ state, token }: DeliveryRecord, by: string) =>
  state === "r" && token === encoded(by);

/** Returns the result of a claim that changes nothing in the record, or undefined for any other claim. */
function unchanged(
  found: DeliveryRecord | undefined,
  request: ClaimRequest,
  now: number,
): ClaimResult | undefined {
  if (!found) return undefined;
  const { state, lineage, leaseEndsAt } = found;
  if (state === "d" || (state === "p" && !request.takeParked)) {
    return {
      status: state === "d" ? "done" : "parked",
      lineage: lineage === null ? undefined : decoded(lineage),
    };
  }
  // A longer lease is shortened. Otherwise a clock that was set back would keep a dead claim alive.
  const isTooLong = leaseEndsAt > now + request.leaseMs;
  return isLeased(found, now) && !isTooLong && !isOwned(found, request.token)
    ? { status: "busy", leaseLeftMs: leaseEndsAt - now }
    : undefined;
}

/** The members of a record without an owner. A done record has none of them. */
const idle = { token: null, leaseEndsAt: 0 };
const done = { ...idle, state: "d", fence: 0, run: 0 };

const states: Readonly<Record<string, RecordState>> = {
  r: "running",
  f: "failed",
  p: "parked",
  d: "done",
};

/** The records, and one method for each call of the store. Each method but the first two must run in a transaction. */
export class DeliveryRecords {
  readonly #db: SqliteDatabase;
  #prepared: Statements | undefined;

  constructor(db: SqliteDatabase) {
    this.#db = db;
  }

  /** Returns the result of a claim, or undefined if the claim must write. */
  known(key: Uint8Array, request: ClaimRequest): ClaimResult | undefined {
    const now = Date.now();
    return unchanged(this.#find(key, now), request, now);
  }

  /** Returns the state of a record, or undefined if there is none. */
  stateOf(key: Uint8Array, now: number): RecordState | undefined {
    const row = this.#statements.state.get(key, now);
    if (!row) return undefined;
    const [letter, leaseEndsAt] = valuesOf(row);
    const state = states[String(letter)];
    if (!state) throw new Error(`The state of a record is ${JSON.stringify(letter)}.`);
    return state === "running" && Number(leaseEndsAt) <= now ? "failed" : state;
  }

  claim(key: Uint8Array, request: ClaimRequest): ClaimResult {
    const now = Date.now();
    const found = this.#find(key, now);
    const result = unchanged(found, request, now);
    if (result) return result;
    const { token, leaseMs, retainMs, lineage } = request;
    if (found && isLeased(found, now)) {
      const leaseEndsAt = Math.min(found.leaseEndsAt, now + leaseMs);
      if (leaseEndsAt < found.leaseEndsAt) this.#put(key, { ...found, leaseEndsAt });
      const { fence, run } = found;
      return isOwned(found, token)
        ? { status: "claimed", fence, run }
        : { status: "busy", leaseLeftMs: leaseEndsAt - now };
    }
    const run = found?.state === "p" ? 1 : (found?.run ?? 0) + 1;
    const fence = Math.max((found?.fence ?? 0) + 1, now);
    this.#put(key, {
      state: "r",
      expiresAt: now + retainMs,
      fence,
      run,
      leaseEndsAt: now + leaseMs,
      token: encoded(token),
      lineage: lineage === undefined ? null : encoded(lineage),
    });
    this.#statements.sweep.run(key, now);
    return { status: "claimed", fence, run, takenOver: found?.state === "r" };
  }

  complete(key: Uint8Array, { token, retainMs, lineage }: ClaimRequest): CompleteResult {
    const now = Date.now();
    const found = this.#find(key, now);
    const isDone = found?.state === "d";
    const by = isDone ? found.lineage : lineage === undefined ? null : encoded(lineage);
    this.#put(key, { ...done, expiresAt: now + retainMs, lineage: by });
    if (!found) return "restored";
    if (isDone) return "already";
    return isOwned(found, token) ? "owner" : "late";
  }

  release(key: Uint8Array, { token, retainMs, lineage, to }: ReleaseRequest): boolean {
    const now = Date.now();
    const found = this.#find(key, now);
    if (!found || !isOwned(found, token)) return false;
    this.#put(key, {
      ...found,
      ...idle,
      state: to === "parked" ? "p" : "f",
      run: found.run - (to === "unused" ? 1 : 0),
      expiresAt: now + retainMs,
      lineage: to === "parked" && lineage !== undefined ? encoded(lineage) : null,
    });
    return true;
  }

  extend(key: Uint8Array, { token, leaseMs }: ClaimRequest): boolean {
    const now = Date.now();
    const found = this.#find(key, now);
    if (!found || !isOwned(found, token)) return false;
    const leaseEndsAt = now + leaseMs;
    this.#put(key, { ...found, leaseEndsAt, expiresAt: Math.max(found.expiresAt, leaseEndsAt) });
    return true;
  }

  forget(key: Uint8Array): boolean {
    const now = Date.now();
    const found = this.#find(key, now);
    if (!found || isLeased(found, now)) return false;
    this.#statements.remove.run(key);
    return true;
  }

  /**
   * Returns the record of the run with this fence.
   *
   * @throws TransactionLost
   */
  ownedBy(key: Uint8Array, fence: number): DeliveryRecord {
    // An expired record that is still there has had no other owner.
    const found = this.#find(key, -Infinity);
    if (found?.state === "r" && found.fence === fence) return found;
    throw new TransactionLost(
      !found
        ? "There is no record of this delivery: the receiver must use this store and this file. Nothing was written."
        : found.state === "d"
          ? "This delivery is already completed, by another run or an earlier transaction of this one. Nothing was written."
          : "Another run has taken over this delivery, or this one has been released. Nothing was written.",
    );
  }

  /** Completes a record that `ownedBy` returned in the same transaction. */
  finish(key: Uint8Array, { fence, expiresAt, lineage }: DeliveryRecord): void {
    // A fence is the time of its claim, so this keeps the record for its full retention from now.
    const sinceClaim = Math.max(Date.now() - fence, 0);
    this.#put(key, { ...done, lineage, expiresAt: expiresAt + sinceClaim });
  }

  /** Forgets the statements of a connection that was closed. */
  forgetStatements(): void {
    this.#prepared = undefined;
  }

  purge(limit: number): number {
    this.#statements.purge.run(Date.now(), limit);
    return Number(valuesOf(this.#statements.changes.get())[0]);
  }

  /** The statements, prepared by the first call, because the tables may not exist when the store is created. */
  get #statements(): Statements {
    return (this.#prepared ??= prepare(this.#db));
  }

  #find(key: Uint8Array, now: number): DeliveryRecord | undefined {
    const row = this.#statements.find.get(key);
    if (!row) return undefined;
    const [, state, expiresAt, fence, run, leaseEndsAt, token, lineage] = valuesOf(row);
    if (Number(expiresAt) <= now) return undefined;
    return {
      state: String(state),
      // Connections can be set to return integers as bigints.
      expiresAt: Number(expiresAt),
      fence: Number(fence),
      run: Number(run),
      leaseEndsAt: Number(leaseEndsAt),
      token: token as string | null,
      lineage: lineage as string | null,
    };
  }

  #put(key: Uint8Array, record: DeliveryRecord): void {
    const { state, expiresAt, fence, run, leaseEndsAt, token, lineage } = record;
    const numbers = [expiresAt, fence, run, leaseEndsAt].map((one) => Math.ceil(one) || null);
    this.#statements.put.run(key, state, ...numbers, token, lineage);
  }
}
