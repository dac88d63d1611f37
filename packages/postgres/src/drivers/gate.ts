import { WebhookError } from "@svc-webhooks/core";
import type { Query } from "../database.js";

/** Whether the code in a transaction may still send statements, and what it has tried. */
export interface Gate {
  /** Whether it may send statements. */
  isOpen: boolean;
  /** Whether its connection was lost. */
  isLost: boolean;
  /** Whether one of its statements was not sent. */
  hasRefused: boolean;
  /** Its queries that are sent when they are awaited. */
  readonly lazy: Set<LazyQuery>;
}

/** A query of postgres.js. */
export interface LazyQuery {
  /** Whether it is sent. */
  readonly executed?: boolean;
  /** Whether it is a part of another one. */
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

/** The store's own statements, which are the last of a transaction. Rejects if `work` has created others. */
export const closing =
  (gate: Gate, query: Query): Query =>
  async (...args) => {
    gate.isOpen = false;
    for (const { executed, fragment } of gate.lazy) if (!executed && !fragment) throw refuse(gate);
    return query(...args);
  };

/** Rejects instead of a commit without a statement that `work` did not await. */
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

/** An object whose methods run on `target`, except those in `replaced`. */
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
 * Runs `work`, which never settles if it fails after the transaction has ended or its connection was lost:
 * the rollback that follows would be sent outside of it.
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
 * Begins a transaction of a driver that rejects when its connection is lost, although `work` continues.
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
    // If `work` has rejected, none of its remaining statements will be sent either.
    gate.isLost = true;
    throw error;
  }
}
