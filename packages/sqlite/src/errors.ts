import { WebhookError } from "@svc-webhooks/core";

/** An error of a driver. Each driver has its own members for SQLite's result code. */
interface DriverError {
  readonly code?: unknown;
  readonly errcode?: unknown;
  readonly errno?: unknown;
  readonly message?: unknown;
}

/** The primary result codes of SQLite that the store distinguishes, as numbers and names. */
const resultCodes = {
  busy: [5, "SQLITE_BUSY"],
  // Another connection with the same shared cache has a lock.
  locked: [6, "SQLITE_LOCKED"],
  readOnly: [8, "SQLITE_READONLY"],
  full: [13, "SQLITE_FULL"],
  cannotOpen: [14, "SQLITE_CANTOPEN"],
  // Several connections opened the file at the same moment.
  protocol: [15, "SQLITE_PROTOCOL"],
} as const;

function hasResult(error: unknown, result: keyof typeof resultCodes): boolean {
  const { code, errcode, errno } = Object(error) as DriverError;
  const [number, name] = resultCodes[result];
  // An extended code contains its primary code: in the lowest byte if it is a number, as a prefix if it is a name.
  const resultCode = [errcode, errno].find((value) => typeof value === "number");
  if (resultCode !== undefined) return (resultCode & 0xff) === number;
  return typeof code === "string" && code.startsWith(name);
}

/**
 * Returns whether a call failed because another connection holds a lock. The call then changed nothing and can be
 * repeated.
 */
export const isBusy = (error: unknown): boolean =>
  hasResult(error, "busy") || hasResult(error, "locked") || hasResult(error, "protocol");

/**
 * Returns whether a write failed because the rows of a statement of this connection are still being read: SQLite allows
 * no write in the old snapshot that the statement reads.
 */
const isReading = (error: unknown, message: string): boolean => {
  const { code, errcode, errno } = Object(error) as DriverError;
  return (
    [errcode, errno].includes(517) ||
    code === "SQLITE_BUSY_SNAPSHOT" ||
    /busy executing a query/.test(message)
  );
};

const statementOpen =
  "A statement of this connection is still being read, for example by `iterate`, so the connection cannot write. Nothing was written. Finish reading before you await, or read with another connection.";

interface Explanation {
  readonly code: string;
  readonly applies: (error: unknown, message: string) => boolean;
  readonly text: (message: string) => string;
}

const explanations: readonly Explanation[] = [
  {
    code: "statement_open",
    applies: isReading,
    text: () => statementOpen,
  },
  {
    code: "locked",
    applies: isBusy,
    text: () =>
      "Another connection has kept the database locked for longer than `busyTimeoutMs`. Nothing was written. Keep transactions on this file short in all processes, and look for a process that is suspended or copies the file.",
  },
  {
    code: "read_only",
    applies: (error) => hasResult(error, "readOnly"),
    text: (message) =>
      `The database cannot be written to (${message}). Open it without \`readOnly\`, set \`PRAGMA query_only\` to off, and give this process write permission for the file, its \`-wal\` and \`-shm\` files, and their folder.`,
  },
  {
    code: "disk_full",
    applies: (error) => hasResult(error, "full"),
    text: (message) =>
      `There is no space for the write (${message}). Nothing was written. Free space on the disk, or raise \`PRAGMA max_page_count\` of this connection.`,
  },
  {
    code: "cannot_open",
    applies: (error) => hasResult(error, "cannotOpen"),
    text: (message) =>
      `SQLite cannot open the file, or its \`-wal\` or \`-shm\` file (${message}). Give this process write permission for all three and for their folder: a process of another user, such as root, may have created them.`,
  },
  {
    code: "schema_missing",
    applies: (_error, message) => /no such (?:table|column)|has no column/.test(message),
    text: (message) =>
      `The database does not have the store's tables for this version (${message}). Run \`migrate(db)\` before the server starts listening, or apply schema.sql.`,
  },
  {
    code: "transaction_open",
    applies: (_error, message) => /within a transaction|changed inside a transaction/.test(message),
    text: () =>
      "The connection has an open transaction, so the store's call would become a part of it. Do not nest `transaction`, and do not await anything between `BEGIN` and `COMMIT` on this connection. If you must, give the store its own connection.",
  },
  {
    code: "database_closed",
    applies: (_error, message) => /not open|closed|finalized/i.test(message),
    text: (message) =>
      `The database connection is closed (${message}). Close it only after \`await receiver.drain()\`, or open it again.`,
  },
];

/**
 * Converts an error of one of the store's own statements to one that states the cause and the fix. Returns the error
 * unchanged if its cause is not known.
 */
export function explained(error: unknown): unknown {
  if (error instanceof WebhookError) return error;
  const message = String((Object(error) as DriverError).message);
  const explanation = explanations.find(({ applies }) => applies(error, message));
  return explanation
    ? new WebhookError(explanation.code, explanation.text(message), { cause: error })
    : error;
}

/**
 * Returns the error of a call that could not write before its deadline, because the database was locked or the rows of
 * a statement of this connection were still being read.
 */
export const notSent = (cause: unknown): WebhookError =>
  new WebhookError(
    "not_sent",
    isReading(cause, "")
      ? statementOpen
      : "Another connection has kept the database locked until the deadline of this call. Nothing was written. Keep transactions on this file short in all processes, and look for a process that is suspended or copies the file.",
    { cause },
  );
