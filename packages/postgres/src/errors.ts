import { WebhookError } from "@svc-webhooks/core";
import type { Schema } from "./schema.js";

/**
 * `transaction` and `finish` throw it, code `transaction_lost`, if this run does not own the delivery any
 * more: another run has taken over, the delivery is already completed, or the store has no record of it.
 * Nothing of the transaction was written. Let it reject the handler: the sender's next attempt gets the
 * right response.
 */
export class TransactionLost extends WebhookError<"transaction_lost"> {
  override readonly name = "TransactionLost";

  constructor(message: string, options?: ErrorOptions) {
    super("transaction_lost", message, options);
  }
}

interface DatabaseError {
  readonly code?: unknown;
  readonly message?: unknown;
  readonly cause?: unknown;
}

/** The errors from the outermost to its root: query builders wrap those of drivers. */
function chain(error: unknown): readonly DatabaseError[] {
  const errors: DatabaseError[] = [];
  let one = error;
  // An error can be its own cause.
  while (typeof one === "object" && one !== null && errors.length < 10) {
    errors.push(one);
    one = (one as DatabaseError).cause;
  }
  return errors;
}

/** The error in the chain with one of these codes of PostgreSQL. */
const withCode = (error: unknown, ...codes: readonly string[]): DatabaseError | undefined =>
  chain(error).find(({ code }) => typeof code === "string" && codes.includes(code));

/** Serialization failures and deadlocks: nothing was done, and the same call can succeed. */
export const isTransient = (error: unknown): boolean =>
  withCode(error, "40001", "40P01") !== undefined;

/** The error of one of the store's own statements, with its cause and fix where they are known. */
export function explained(error: unknown, { name }: Schema): unknown {
  const lost = withCode(error, "SVC01");
  if (lost) {
    const text = `${String(lost.message)} Everything in this transaction was rolled back.`;
    return new TransactionLost(text, { cause: error });
  }
  const missing = withCode(error, "3F000", "42883", "42P01");
  if (missing) {
    const text = `The database has no schema "${name}" of this version (${String(missing.message)}). ${migrateText}`;
    return new WebhookError("schema_missing", text, { cause: error });
  }
  const denied = withCode(error, "42501");
  if (denied) {
    const text = `The role may not use the schema "${name}" (${String(denied.message)}). The README of @svc-webhooks/postgres lists the rights that it needs.`;
    return new WebhookError("permission_denied", text, { cause: error });
  }
  return error;
}

export const migrateText =
  "Run `await migrate(db)` when you deploy, or apply schema.sql: psql -f node_modules/@svc-webhooks/postgres/schema.sql";

/** The error of `work` while it held a connection. */
export function explainedWork(error: unknown): unknown {
  // The text of pg-pool, for a caller that waited for longer than connectionTimeoutMillis.
  const timedOut = chain(error).some(
    ({ message }) => message === "timeout exceeded when trying to connect",
  );
  if (!timedOut) return error;
  return new WebhookError(
    "pool_timeout",
    "No connection became free while the transaction held one: use `tx`, not the pool, inside `transaction`. Everything in this transaction was rolled back.",
    { cause: error },
  );
}
