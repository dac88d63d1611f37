import { WebhookError } from "@svc-webhooks/core";
import type { Query } from "../database.js";

/** The state of a transaction's code. */
export interface Gate {
  /** Whether the code may still send statements. */
  isOpen: boolean;
  /** Whether the connection was lost. */
  isLost: boolean;
  /** Whether a statement was not sent. */
  hasRefused: boolean;
  /** Queries that are not sent until they are awaited. */
  readonly lazy: Set<LazyQuery>;
}

/** A query of postgres.js. */
export interface LazyQuery {
  /** Whether the query was sent. */
  readonly executed?: boolean;
  /** Whether the query is a part of another one. */
  readonly fragment?: boolean;
}

export const newGate = (): Gate => ({
  isOpen: true,
  isLost: false,
  hasRefused: false,
  lazy: new Set(),
});

/** Returns the error of a statement that was not sent. */
export function refuse(gate: Gate): WebhookError {
  gate.hasRefused = true;
  return new WebhookError(
    "transaction_ended",
    "A statement was not sent: it was not awaited, its transaction had ended or was being committed, or its connection was lost. Await every statement in `work`.",
  );
}

/**
 * Returns a function for the store's own statements, which are the last of a transaction. It rejects if `work`
 * has created others.
 */
export const closing =
  (gate: Gate, query: Query): Query =>
  async (...args) => {
    gate.isOpen = false;
    for (const { executed, fragment } of gate.lazy) if (!executed && !fragment) throw refuse(gate);
    return query(...args);
  };

/** Rejects, instead of committing without a statement that `work` did not await. */
export async function unlessRefused<Result>(
  gate: Gate,
  work: Promise<Result>,
  isCommitted = () => false,
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

/** Returns an object whose methods run on `target`, except those in `replaced`. */
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
 * Runs `work`. Never settles if it fails after the transaction has ended or its connection was lost: the
 * rollback that follows would be sent outside of the transaction.
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

/** Begins a driver's transaction, and rejects when its connection is lost, even if `work` continues. */
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
    // If `work` has rejected, none of its statements will be sent either.
    gate.isLost = true;
    throw error;
  }
}
