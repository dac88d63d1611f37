import { WebhookError } from "@svc-webhooks/core";
import { TransactionLostError } from "@svc-webhooks/core/adapter";
import { isEndedByWork } from "./database.js";
import { defaultSchema, type Schema } from "./schema/schema.js";

interface DatabaseError {
  readonly code?: unknown;
  readonly message?: unknown;
  readonly cause?: unknown;
}

/** Returns the chain of errors, from the outermost to the root cause: query builders wrap drivers' errors. */
function chain(error: unknown): readonly DatabaseError[] {
  const errors: DatabaseError[] = [];
  let link = error;
  // The length is limited, because an error can be its own cause.
  while (typeof link === "object" && link !== null && errors.length < 10) {
    errors.push(link);
    link = (link as DatabaseError).cause;
  }
  return errors;
}

/** Returns the first error in the chain that has one of these PostgreSQL codes. */
const withCode = (error: unknown, ...codes: readonly string[]): DatabaseError | undefined =>
  chain(error).find(({ code }) => typeof code === "string" && codes.includes(code));

/**
 * Returns whether an error is a serialization failure or a deadlock: nothing was written, and a retry of the call can
 * succeed.
 */
export const isTransient = (error: unknown): boolean =>
  withCode(error, "40001", "40P01") !== undefined;

export const isLockTimeout = (error: unknown): boolean => withCode(error, "55P03") !== undefined;

/**
 * Converts an error of one of the store's own statements to one that states the cause and the fix. Returns the error
 * unchanged if its cause is not known.
 */
export function explained(error: unknown, schema: Pick<Schema, "name">): unknown {
  // The outermost match counts: the error with which PostgreSQL rejects a statement in an aborted transaction (25P02) has
  // the error of an earlier statement as its cause.
  for (const link of chain(error)) {
    const explanation = explanations.find(({ codes }) => codes.includes(String(link.code)));
    if (!explanation) continue;
    const message = explanation.text(String(link.message), schema.name);
    return explanation.as === "transaction_lost"
      ? new TransactionLostError(message, { cause: error })
      : new WebhookError(explanation.as, message, { cause: error });
  }
  return error;
}

interface Explanation {
  /** The PostgreSQL error codes that this explanation applies to. */
  readonly codes: readonly string[];
  /** The code of the error that is thrown instead. */
  readonly as: string;
  readonly text: (message: string, schema: string) => string;
}

const explanations: readonly Explanation[] = [
  {
    codes: ["SVC01"],
    as: "transaction_lost",
    text: (message) => `${message} Everything in this transaction was rolled back.`,
  },
  {
    codes: ["3F000", "42883", "42P01"],
    as: "schema_missing",
    text: (message, schema) =>
      `The database does not have the schema "${schema}" for this version (${message}). ${migrateText(schema)}`,
  },
  {
    codes: ["42501"],
    as: "permission_denied",
    text: (message, schema) =>
      `The role lacks privileges in the schema "${schema}" (${message}). The README of @svc-webhooks/postgres lists the required privileges. To run migrations, the role must own the schema.`,
  },
  {
    codes: ["25006"],
    as: "read_only",
    text: (message) =>
      `This server rejects writes (${message}). Connect to the primary, or set default_transaction_read_only to off for the role or the database.`,
  },
  {
    codes: ["25P02"],
    as: "transaction_aborted",
    text: () =>
      "A statement in `work` failed, and `work` caught its error or did not await it, so PostgreSQL commits nothing. Let the error propagate from `work`, or use a savepoint.",
  },
];

/** Returns instructions for creating a schema. They name `schema.sql` only for the default schema, which it creates. */
export const migrateText = (schema: string): string =>
  schema === defaultSchema
    ? "Run `await migrate(db)` when you deploy, or apply schema.sql: psql -f node_modules/svc-webhooks/postgres/schema.sql"
    : `Run \`await migrate(db, { schema: "${schema}" })\` when you deploy.`;

/**
 * Converts an error of `work` to one that states the cause and the fix, if a statement failed earlier or the pool timed
 * out. Returns other errors unchanged.
 */
export function explainedWork(error: unknown): unknown {
  if (withCode(error, "25P02")) return explained(error, { name: defaultSchema });
  if (!isPoolTimeout(error)) return error;
  return new WebhookError(
    "pool_timeout",
    "No other connection became free while the transaction held one. Use `tx`, not the pool, inside `transaction`. Everything in this transaction was rolled back.",
    { cause: error },
  );
}

/** Returns the error for `complete` if the handler did not await its transaction. */
export function notAwaited(failure: { readonly error: unknown } | undefined): WebhookError {
  if (!failure) {
    return new WebhookError(
      "handler_failed",
      "The handler returned while its `transaction` was still open. Await or return its promise.",
    );
  }
  const { error } = failure;
  const { message } = chain(error).at(-1) ?? { message: error };
  return new WebhookError(
    "handler_failed",
    `The handler did not await \`transaction\`, which failed: ${String(message)}. Await or return its promise.`,
    { cause: error },
  );
}

/** Returns whether the store's last statement found that `work` has ended its transaction. */
export const isEnded = (error: unknown): boolean =>
  chain(error).some(({ message }) => isEndedByWork(message));

/** Returns whether pg-pool threw an error because a caller waited longer than `connectionTimeoutMillis`. */
export const isPoolTimeout = (error: unknown): boolean =>
  chain(error).some(({ message }) => message === "timeout exceeded when trying to connect");

export const isNotSent = (error: unknown): boolean =>
  error instanceof WebhookError && error.code === "not_sent";

/** Returns the error of a call that could not get a connection, including any problems with the client's settings. */
export const notSent = (error: unknown, problems: readonly string[] = []): WebhookError =>
  new WebhookError(
    "not_sent",
    [
      isPoolTimeout(error)
        ? "No connection in the pool became free within connectionTimeoutMillis. Either PostgreSQL has stopped responding, a handler uses the pool inside `transaction`, or the pool's `max` is too low."
        : `No connection to PostgreSQL: ${String((error as Error | undefined)?.message || error)}`,
      ...problems,
    ].join(" "),
    { cause: error },
  );
