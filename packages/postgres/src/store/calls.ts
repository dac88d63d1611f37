import { WebhookError, type StoreCall } from "@svc-webhooks/core";
import { replyOf, type Database } from "../database.js";
import type { Schema } from "../schema/schema.js";
import { explained, isPoolTimeout, isTransient, notSent } from "../errors.js";

/** Runs the store's calls, each a single statement, and converts their errors. */
export interface Calls {
  /** Runs a statement and resolves to its reply. */
  readonly call: (
    text: string,
    values: readonly string[],
    storeCall?: StoreCall,
  ) => Promise<string>;
  /**
   * Throws `not_sent` if at least as many calls are overdue as there are connections, because a claim would have to
   * wait behind them.
   */
  readonly assertNotCongested: () => void;
  /** Converts the error of a statement to one that states the cause, if the cause is known. */
  readonly explainedCall: (error: unknown) => unknown;
}

export function createCalls(database: Database<unknown>, schema: Schema): Calls {
  /** The pending calls, including those past their deadline. */
  const pendingCalls = new Set<{ readonly deadline: StoreCall | undefined }>();

  const explainedCall = (error: unknown) => {
    // After a pool timeout, also states the problems with the client's settings: they may be the reason why connections
    // that have stopped responding occupy the whole pool.
    const problems = isPoolTimeout(error) ? (database.problems?.() ?? []) : [];
    return problems.length > 0 ? notSent(error, problems) : explained(error, schema);
  };

  const call = async (text: string, values: readonly string[], storeCall?: StoreCall) => {
    const own = { deadline: storeCall };
    pendingCalls.add(own);
    try {
      return await retried(text, values, storeCall);
    } finally {
      pendingCalls.delete(own);
    }
  };

  const retried = async (text: string, values: readonly string[], storeCall?: StoreCall) => {
    for (let attempt = 1; ; attempt += 1) {
      try {
        return replyOf(await database.query(text, values, storeCall));
      } catch (error) {
        // Retries deadlocks, and serialization failures, which happen if the default isolation level is stricter than
        // "read committed".
        if (!isTransient(error) || attempt === attempts) throw explainedCall(error);
      }
    }
  };

  const assertNotCongested = () => {
    const { connections = 10 } = database;
    if (pendingCalls.size < connections) return;
    const overdue = [...pendingCalls].filter(({ deadline }) => deadline?.signal.aborted);
    if (overdue.length >= connections) throw congested(database);
  };

  return { call, assertNotCongested, explainedCall };
}

const congested = (database: Database<unknown>) =>
  new WebhookError(
    "not_sent",
    [
      "PostgreSQL has not replied in time, or no connection became free, so no claim is sent until an overdue call ends.",
      ...(database.problems?.() ?? []),
    ].join(" "),
  );

/** The maximum number of attempts for a call that fails with a transient error. */
const attempts = 10;
