import { WebhookError } from "@svc-webhooks/core";
import type { Query } from "../database.js";

/** Controls whether the code in a transaction may send statements. */
export interface Gate {
  /** Whether the code may still send statements. */
  isOpen: boolean;
  /** Whether the transaction's connection was lost. */
  isLost: boolean;
  /** Whether any statement was refused instead of being sent. */
  hasRefused: boolean;
  /** The transaction's queries that have not been sent, because nothing has awaited them yet. */
  readonly lazy: Set<LazyQuery>;
}

/** A postgres.js query. */
export interface LazyQuery {
  /** Whether the query was sent. */
  readonly executed?: boolean;
  /** Whether the query is a fragment of another one. */
  readonly fragment?: boolean;
}

export const newGate = (): Gate => ({
  isOpen: true,
  isLost: false,
  hasRefused: false,
  lazy: new Set(),
});

/** Records that a statement was not sent, and returns its error. */
export function refuse(gate: Gate): WebhookError {
  gate.hasRefused = true;
  return new WebhookError(
    "transaction_ended",
    "A statement was not sent, because it was not awaited, its transaction had ended or was being committed, or its connection was lost. Await every statement in `work`.",
  );
}

/**
 * Returns a function that runs the store's own statements at the end of a transaction. It closes the gate first, and
 * rejects if `work` has left queries unsent.
 */
export const closing =
  (gate: Gate, query: Query): Query =>
  async (...args) => {
    gate.isOpen = false;
    for (const { executed, fragment } of gate.lazy) if (!executed && !fragment) throw refuse(gate);
    return query(...args);
  };

/**
 * Settles like `work`, but rejects if a statement was refused, so that the transaction is not committed without it. If
 * the transaction is committed already, refused statements are ignored. Closes the gate at the end.
 */
export async function unlessRefused<Result>(
  gate: Gate,
  work: Promise<Result>,
  isCommitted: () => unknown = () => false,
): Promise<Result> {
  try {
    const result = await work;
    if (gate.hasRefused && !isCommitted()) throw refuse(gate);
    return result;
  } finally {
    gate.isOpen = false;
  }
}

type Method = (...args: unknown[]) => unknown;

/** Returns a proxy of `target` in which the methods in `replaced` take precedence. */
export const withMethods = <Target extends object>(
  target: Target,
  replaced: Readonly<Record<string, Method>>,
): Target =>
  new Proxy(target, {
    get(_target, member) {
      const own = Object.hasOwn(replaced, member) ? replaced[String(member)] : undefined;
      const value: unknown = own ?? Reflect.get(target, member);
      return typeof value === "function"
        ? (...args: unknown[]) => (value as Method).apply(target, args)
        : value;
    },
  });

export const nextTurn = (): Promise<void> => new Promise((resolve) => void setImmediate(resolve));

/**
 * Runs `work` and settles like it, unless `work` fails after the transaction has ended or its connection was lost. In
 * that case, never settles, because the driver would otherwise send its rollback outside the transaction.
 */
export async function unlessLate<Result>(
  work: () => Result | Promise<Result>,
  isLate: () => boolean,
): Promise<Result> {
  try {
    return await work();
  } catch (error) {
    await nextTurn();
    if (isLate()) await new Promise(() => {});
    throw error;
  }
}

/**
 * Runs a driver's transaction, and passes `work` a new gate. Rejects when the transaction's connection is lost, even if
 * `work` is still running.
 */
export async function outliving<Tx, Result>(
  begin: (run: (tx: Tx) => Promise<Result>) => Promise<Result>,
  work: (tx: Tx, gate: Gate) => Promise<Result>,
): Promise<Result> {
  const gate = newGate();
  try {
    return await begin((tx) =>
      unlessLate(
        () => unlessRefused(gate, work(tx, gate)),
        () => gate.isLost,
      ),
    );
  } catch (error) {
    // Set even if `work` itself has rejected, so that none of its remaining statements are sent.
    gate.isLost = true;
    throw error;
  }
}
