import { isPromise } from "node:util/types";
import { ConfigError, WebhookError } from "@svc-webhooks/core";
import { assertValid } from "@svc-webhooks/core/adapter";
import { explaining, transact } from "../connection/connection.js";
import type { SqliteDatabase } from "../database.js";
import type { RunIdentity } from "../run-identity.js";
import type { DeliveryRecords } from "./records.js";
import { bytesOf } from "./wire.js";

/** Runs `work` and completes the delivery in one transaction. Returns the result of `work`. */
export function runTransaction(
  db: SqliteDatabase,
  records: DeliveryRecords,
  context: RunIdentity,
  work: (db: SqliteDatabase) => unknown,
): unknown {
  const { key, fence } = identified(context);
  assertWork(work);
  return transact(db, () => {
    // The write lock is held until the commit, so the owner cannot change while `work` runs.
    const record = explaining(() => records.ownedBy(bytesOf(key), fence));
    explaining(() => db.exec("SAVEPOINT svc_webhooks_work"));
    const result = work(db);
    assertNoPromise(result);
    try {
      // Fails if `work` has removed the savepoint with a commit or a rollback.
      db.exec("RELEASE svc_webhooks_work");
    } catch (error) {
      throw endedByWork(error);
    }
    explaining(() => records.finish(bytesOf(key), record));
    return result;
  });
}

/** Returns the key and the fence of a run. */
export function identified(context: RunIdentity): { readonly key: string; readonly fence: number } {
  // Checks both members, because JavaScript callers may pass anything, and a copy of a context lacks the getters.
  const { idempotencyKey, fence } = Object(context) as Partial<RunIdentity>;
  if (typeof idempotencyKey !== "string") throw notAContext();
  if (fence === undefined) {
    const text =
      'The context has no fence, so this run cannot complete the delivery: the store was unavailable, and `onStoreError` is "process". Leave `onStoreError` at "refuse" for handlers that use `transaction`.';
    throw Object.assign(new TypeError(text), { code: "not_claimed" });
  }
  if (!Number.isSafeInteger(fence)) throw notAContext();
  return { key: idempotencyKey, fence };
}

function assertWork(work: unknown): void {
  assertValid(
    typeof work === "function",
    "work",
    "`work` must be a function: store.transaction(context, (db) => { ... }).",
  );
  // Refuses `work` before any of its code runs. Async functions that were compiled for old targets are detected later,
  // by their result.
  const kind = Object.prototype.toString.call(work);
  assertValid(kind === "[object Function]", "work", synchronousText);
}

const synchronousText =
  "`work` must be a synchronous function: the transaction ends when `work` returns, so anything that an async function or a generator does later would run outside it. Await remote calls before `transaction`, and pass `(db) => { ... }`.";

function assertNoPromise(result: unknown): void {
  const { then } = Object(result) as { readonly then?: unknown };
  if (typeof then !== "function") return;
  // The result of the promise no longer matters, but an unhandled rejection would end the process. The `then` of a
  // query builder is not called, because it would run the query.
  if (isPromise(result)) result.catch(() => {});
  throw new WebhookError(
    "asynchronous_work",
    "`work` returned a promise. Everything that it wrote before its first `await` was rolled back, and the delivery is not completed. Anything that it does later runs outside the transaction. Await remote calls before `transaction`, and make `work` synchronous.",
  );
}

const notAContext = () =>
  new ConfigError(
    "invalid_option",
    "context",
    "Pass the handler's own `context`, not a copy of it: store.transaction(context, (db) => { ... }).",
  );

const endedByWork = (cause: unknown) =>
  new WebhookError(
    "transaction_ended",
    "`work` ended its transaction with `COMMIT` or `ROLLBACK`, or caught an error after which SQLite rolls back by itself, such as a full disk. Anything it committed is kept, but the delivery is not completed. Let `transaction` end the transaction: it commits if `work` returns, and rolls back if `work` throws.",
    { cause },
  );
