import type { ClaimRequest, ClaimResult, RecordState } from "@svc-webhooks/core";
import {
  doneRecord,
  next,
  stateOf,
  type Change,
  type StoredRecord,
} from "@svc-webhooks/core/store-rules";
import { valuesOf } from "../connection/connection.js";
import type { SqliteDatabase, SqliteStatement } from "../database.js";
import { TransactionLostError } from "@svc-webhooks/core/adapter";
import { assertKnown, versionIn } from "../schema/schema.js";
import { decoded, encoded } from "./wire.js";

const columns = "key, state, expires_at, fence, run, lease_ends_at, token, lineage";
const table = "svc_webhooks_deliveries";

/**
 * The number of records that each successful claim examines, starting after its own in the order of the keys. Those
 * that have expired are removed.
 */
const neighbors = 8;

interface Statements {
  readonly find: SqliteStatement;
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
    put: db.prepare(`INSERT OR REPLACE INTO ${table} (${columns}) VALUES (?, ?, ?, ?, ?, ?, ?, ?)`),
    remove: db.prepare(`DELETE FROM ${table} WHERE key = ?`),
    // Keys are hashes, so a later claim can be next to any record. Expired records therefore do not accumulate.
    sweep: db.prepare(
      `DELETE FROM ${table} WHERE key IN (SELECT key FROM ${table} WHERE key > ? ORDER BY key LIMIT ${neighbors}) AND expires_at <= ?`,
    ),
    purge: db.prepare(
      `DELETE FROM ${table} WHERE key IN (SELECT key FROM ${table} WHERE expires_at <= ? LIMIT ?)`,
    ),
    changes: db.prepare("SELECT changes()"),
  };
}

const letters = { running: "r", failed: "f", parked: "p", done: "d" } as const;

function decodedState(letter: unknown): RecordState {
  for (const state of Object.keys(letters) as RecordState[]) {
    if (letters[state] === letter) return state;
  }
  throw new Error(`Invalid record state: ${JSON.stringify(letter)}.`);
}

const read = (value: unknown) => (typeof value === "string" ? decoded(value) : null);
const wireOf = (text: string | null | undefined) =>
  typeof text === "string" ? encoded(text) : null;

/** Reads and writes records, with one method for each store call. Methods that write must run in a transaction. */
export class DeliveryRecords {
  readonly #db: SqliteDatabase;
  #prepared: Statements | undefined;

  constructor(db: SqliteDatabase) {
    this.#db = db;
  }

  /** Returns the result of a claim, or undefined if the claim must write. */
  known(key: Uint8Array, request: ClaimRequest): ClaimResult | undefined {
    const [result, record] = next("claim", this.#find(key), request, Date.now());
    return record ? undefined : result;
  }

  /** Returns the state of a record, or undefined if there is none. */
  stateOf(key: Uint8Array, now: number): RecordState | undefined {
    const record = this.#find(key);
    return record && stateOf(record, now);
  }

  /**
   * Applies the rule for a call to the record, and writes the resulting record. Claims use `claim`, which also removes
   * expired records.
   */
  readonly change: Change<Uint8Array> = (call, key, request) => {
    const [result, record] = next(call, this.#find(key), request, Date.now());
    if (record) this.#put(key, record);
    if (record === null) this.#statements.remove.run(key);
    return result;
  };

  claim(key: Uint8Array, request: ClaimRequest): ClaimResult {
    const result = this.change("claim", key, request);
    if (result.status === "claimed") this.#statements.sweep.run(key, Date.now());
    return result;
  }

  /**
   * Returns the record of the run with this fence.
   *
   * @throws TransactionLostError if that run does not own the record
   */
  ownedBy(key: Uint8Array, fence: number): StoredRecord {
    // Expiry is ignored, because an expired record that still exists has had no other owner.
    const record = this.#find(key);
    if (record?.state === "running" && record.fence === fence) return record;
    throw new TransactionLostError(
      !record
        ? "There is no record of this delivery: the receiver must use this store and this file. Nothing was written."
        : record.state === "done"
          ? "This delivery is already completed, by another run or an earlier transaction of this one. Nothing was written."
          : "Another run has taken over this delivery, or this one has been released. Nothing was written.",
    );
  }

  /** Completes a record that `ownedBy` returned in the same transaction. */
  finish(key: Uint8Array, { fence, expiresAt, lineage }: StoredRecord): void {
    // A fence is the time of its claim. Adding the time since then keeps the record for its full retention from now.
    const sinceClaim = Math.max(Date.now() - fence, 0);
    this.#put(key, doneRecord(lineage, expiresAt + sinceClaim));
  }

  /** Discards the prepared statements of a connection that was closed. */
  forgetStatements(): void {
    this.#prepared = undefined;
  }

  purge(limit: number): number {
    this.#statements.purge.run(Date.now(), limit);
    return Number(valuesOf(this.#statements.changes.get())[0]);
  }

  /**
   * The prepared statements. The first use prepares them, because the tables may not exist when the store is created.
   */
  get #statements(): Statements {
    return (this.#prepared ??= prepare(this.#db));
  }

  #find(key: Uint8Array): StoredRecord | undefined {
    const row = this.#statements.find.get(key);
    if (!row) return undefined;
    const [, letter, expiresAt, fence, run, leaseEndsAt, token, lineage] = valuesOf(row);
    return {
      state: decodedState(letter),
      // Numbers are converted, because connections can be set to return integers as bigints.
      expiresAt: Number(expiresAt),
      fence: Number(fence),
      run: Number(run),
      leaseEndsAt: Number(leaseEndsAt),
      token: read(token),
      lineage: read(lineage),
    };
  }

  #put(key: Uint8Array, record: StoredRecord): void {
    const { state, expiresAt, fence, run, leaseEndsAt, token, lineage } = record;
    const numbers = [expiresAt, fence, run, leaseEndsAt].map((number) => Math.ceil(number) || null);
    this.#statements.put.run(key, letters[state], ...numbers, wireOf(token), wireOf(lineage));
  }
}
