import { ConfigError, WebhookError } from "@svc-webhooks/core";
import { assertValid } from "@svc-webhooks/core/adapter";
import { firstStatement, replyOf, unlessEnded, type Database } from "../database.js";
import { explainedWork, isEnded, isNotSent } from "../errors.js";
import { NotedPromise } from "./noted-promise.js";
import { ReplyLimit } from "./reply-limit.js";
import type { RunIdentity, Statement } from "../run-identity.js";
import type { Schema } from "../schema/schema.js";
import { uuid } from "./wire.js";

interface Transaction {
  readonly own: () => NotedPromise<unknown>;
  /** The time limit for the server's replies. Undefined if `transaction` was called with invalid arguments. */
  limit?: ReplyLimit;
  /** The transaction's id on the server. Undefined until it is known. */
  id?: string;
}

/** A run that this store has claimed, until it is completed or released. */
interface Run {
  /** The run's transactions that are open, or have failed without being awaited. */
  readonly transactions: Set<Transaction>;
  /** Whether a transaction has completed the run, so that `complete` needs no statement. */
  isFinished: boolean;
}

/** The runs that a store has claimed, and the transactions of their handlers. */
export interface Transactions {
  readonly begin: <Result>(
    context: RunIdentity,
    work: (tx: unknown) => Promise<Result>,
  ) => Promise<Result>;
  readonly finish: (context: RunIdentity) => Statement;
  /** Records the lease that a claim requests. */
  readonly noteLease: (leaseMs: number) => void;
  readonly addRun: (key: string, owner: string, fence: number) => void;
  readonly runOf: (key: string, owner: string) => Run | undefined;
  /** Removes a run that is completed or released. Returns whether a transaction has completed it. */
  readonly endRun: (key: string, owner: string) => boolean;
}

export function createTransactions(
  database: Database<unknown>,
  schema: Schema,
  explainedCall: (error: unknown) => unknown,
): Transactions {
  // This process can hold two runs of the same key if one has lost its lease. A context identifies a run by its fence;
  // the store's calls identify it by its owner, the encoded token.
  const fences = new Map<string, number>();
  const runs = new Map<string, Run>();
  /**
   * The longest lease that a claim has requested, in milliseconds; 0 before the first claim. A frozen process must not
   * keep a record locked for longer than that.
   */
  let idleTimeoutMs = 0;

  const transact = async <Result>(
    context: RunIdentity,
    work: (tx: unknown) => Promise<Result>,
    run: Run | undefined,
    transaction: Transaction,
  ): Promise<Result> => {
    const { text, values } = finishOf(schema, context);
    assertValid(
      typeof work === "function",
      "work",
      "`work` must be a function: store.transaction(context, (tx) => ...).",
    );
    const limit = (transaction.limit = new ReplyLimit(idleTimeoutMs || 30_000));
    const ownMark = values.join(" ");
    let finished: Run | undefined;
    const pending = database.transaction(
      async (tx, query, mark) => {
        limit.startWork();
        const effects = await rejecting(explainedWork, () => work(tx));
        limit.startEnd();
        await rejecting(
          (error) => (isEnded(error) ? endedByWork() : explainedCall(error)),
          () => (mark ? query(unlessEnded(text), [...values, mark]) : query(text, values)),
        );
        // `isFinished` is set before the commit, because the reply to a concurrent `extend` may arrive before the reply
        // to the commit.
        finished = run;
        if (run) run.isFinished = true;
        return effects;
      },
      {
        first: firstStatement(limit.leaseMs, ownMark),
        begun: (rows) => (transaction.id = replyOf(rows)),
        mark: ownMark,
        idleTimeoutMs: limit.leaseMs,
        signal: limit.signal,
      },
    );
    try {
      return await limit.over(pending);
    } catch (error) {
      // Only the transaction that finished the run resets `isFinished`. If a second one fails, the run stays finished.
      if (finished) finished.isFinished = false;
      throw error;
    }
  };

  return {
    begin<Result>(context: RunIdentity, work: (tx: unknown) => Promise<Result>) {
      const { idempotencyKey = "", fence } = Object(context) as Partial<RunIdentity>;
      const run = runs.get(named(idempotencyKey, fence));
      const transaction: Transaction = { own: () => result };
      run?.transactions.add(transaction);
      const forget = () => run?.transactions.delete(transaction);
      const result = new NotedPromise<Result>((resolve, reject) => {
        const ended = transact(context, work, run, transaction);
        ended.then(forget, (error) => {
          if (result.isAwaited) forget();
          // `complete` will fail this run, so the rejection need not crash the process.
          else if (run) result.failWith(error);
        });
        ended.then(resolve, reject);
      });
      return result;
    },
    finish: (context) => finishOf(schema, context),
    noteLease(leaseMs) {
      idleTimeoutMs = Math.max(idleTimeoutMs, leaseMs);
    },
    addRun(key, owner, fence) {
      fences.set(named(key, owner), fence);
      runs.set(named(key, fence), { transactions: new Set(), isFinished: false });
    },
    runOf: (key, owner) => runs.get(named(key, fences.get(named(key, owner)))),
    endRun(key, owner) {
      const name = named(key, fences.get(named(key, owner)));
      const isFinished = runs.get(name)?.isFinished === true;
      runs.delete(name);
      fences.delete(named(key, owner));
      return isFinished;
    },
  };
}

/**
 * Extends the lease of a run and of its transactions. Resolves to whether the run still owns the delivery.
 *
 * @param extend extends the lease in the database. Resolves to `1` if that succeeded, otherwise `0`. If `id` is set,
 *   the state of the transaction with this id follows
 */
export async function extendRun(
  run: Run | undefined,
  extend: (id: string | undefined) => Promise<string>,
): Promise<boolean> {
  const transactions = run?.transactions ?? [];
  // Checks the state of only one transaction, because only one transaction of a run can be committed. The next one is
  // checked after this one has ended.
  const working = [...transactions].find(
    ({ limit, id = "" }) => limit?.isWorking && /^\d{1,18}$/.test(id),
  );
  const reply = await extend(working?.id).catch((error: unknown) => {
    if (isNotSent(error)) for (const { limit } of transactions) limit?.noteFullPool();
    throw error;
  });
  if (reply.endsWith("aborted")) working?.limit?.noteRollback();
  const isExtended = reply.startsWith("1");
  for (const { own, limit } of transactions) {
    if (isExtended) limit?.renew();
    // If the lease was not extended, the transaction may just have been committed. The run then still counts as the
    // owner.
    else if (limit?.isEnding) await own().settled();
  }
  return isExtended || run?.isFinished === true;
}

/**
 * Returns the statement that completes a run.
 *
 * @throws ConfigError `invalid_option`; TypeError `not_claimed`
 */
function finishOf(schema: Schema, context: RunIdentity): Statement {
  // Checks both members, because JavaScript callers may pass anything, and a copy of a context lacks the getters.
  const { idempotencyKey, fence } = Object(context) as Partial<RunIdentity>;
  if (typeof idempotencyKey !== "string") throw notAContext();
  if (fence === undefined) {
    const text =
      'The context has no fence, so this run cannot complete the delivery: the store was unavailable, and `onStoreError` is "process".';
    throw Object.assign(new TypeError(text), { code: "not_claimed" });
  }
  if (!Number.isSafeInteger(fence)) throw notAContext();
  return { text: schema.finish, values: [uuid(idempotencyKey), String(fence)] };
}

const named = (key: string, owner: string | number | undefined): string => `${key} ${owner}`;

/** Runs a step, and rejects with the error that `as` returns for its error. */
async function rejecting<Result>(
  as: (error: unknown) => unknown,
  step: () => Promise<Result>,
): Promise<Result> {
  try {
    return await step();
  } catch (error) {
    throw as(error);
  }
}

const notAContext = () =>
  new ConfigError(
    "invalid_option",
    "context",
    "Pass the handler's own `context`, not a copy of it: store.transaction(context, (tx) => ...).",
  );

const endedByWork = () =>
  new WebhookError(
    "transaction_ended",
    "`work` ended its transaction with `commit` or `rollback`. Anything it committed is kept, but the delivery is not completed. Let `transaction` end the transaction: it commits if `work` resolves, and rolls back if `work` rejects.",
  );
