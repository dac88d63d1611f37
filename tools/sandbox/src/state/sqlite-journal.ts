import {
  accessSync,
  chmodSync,
  closeSync,
  constants,
  existsSync,
  lstatSync,
  openSync,
  realpathSync,
  statSync,
  type Stats,
} from "node:fs";
import { dirname, join } from "node:path";
import { messageOf } from "../errors.js";
import type { Change, Journal } from "./journal.js";
import { loadSqlite, type Database } from "./sqlite.js";

/** Marks a SQLite file as the sandbox's ("svcw"), so that another program's database is never changed. */
const applicationId = 0x73_76_63_77;

/** The file version that this sandbox writes. Files of other versions are rejected. */
const version = 2;

/**
 * Opens the journal in a SQLite file. The file holds signing secrets, so its mode becomes 0600; a rejected file keeps
 * its mode. With `synchronous=NORMAL` and a write-ahead log (WAL), the data survives a crash of the process at any
 * moment; a crash of the machine may lose the last transactions.
 *
 * @throws ConfigError `invalid_option` if there is no SQLite
 * @throws Error with the path, the reason and the fix if the file cannot be used, for example because another process
 *   has it open
 */
export function sqliteJournal(path: string): Journal {
  const { DatabaseSync } = loadSqlite();
  let database: Database | undefined;
  let restoreModes: (() => void) | undefined;
  try {
    // The file is opened here only if it does not exist: opening a FIFO would block, and closing an existing file would
    // release the locks that another sandbox in this process holds on it.
    const stats = statSync(path, { throwIfNoEntry: false });
    if (stats === undefined) closeSync(openSync(path, "a", 0o600));
    else assertUsable(path, stats);
    // The real path is needed for two reasons: SQLite keeps its other files next to the target of a symbolic link, and
    // gives names such as `:memory:` a special meaning unless they include a directory.
    const file = realpathSync(path);
    restoreModes = makePrivate(file);
    database = new DatabaseSync(file);
    return journalIn(database, path);
  } catch (error) {
    database?.close();
    restoreModes?.();
    throw unusable(path, error);
  }
}

const notRegular = "is not a regular file";

function assertUsable(path: string, stats: Stats): void {
  accessSync(path, constants.R_OK | constants.W_OK);
  if (stats.isDirectory()) throw Object.assign(new Error("a directory"), { code: "EISDIR" });
  if (!stats.isFile()) throw new Error(`it ${notRegular}`);
}

/**
 * Sets the mode of the database's files to 0600. Must be called before SQLite opens them, because SQLite gives a new
 * WAL the mode that the database has at that moment. Returns a function that restores the modes.
 *
 * @throws Error before any mode is changed, if one of the database's other files is not a regular file
 */
function makePrivate(file: string): () => void {
  const files = [file];
  for (const suffix of ["-wal", "-shm", "-journal"]) {
    const path = file + suffix;
    // Links are rejected, because following one would change the mode and the content of another file.
    const stats = lstatSync(path, { throwIfNoEntry: false });
    if (stats && !stats.isFile()) throw new Error(`its file ${path} ${notRegular}`);
    if (stats) files.push(path);
  }
  const modes = files.map((path) => [path, statSync(path).mode] as const);
  for (const path of files) chmodSync(path, 0o600);
  return () => {
    for (const [path, mode] of modes) if (existsSync(path)) chmodSync(path, mode);
  };
}

function journalIn(database: Database, path: string): Journal {
  // This is checked before anything is written, because the file may belong to another program.
  const isEmpty = database.prepare("SELECT 1 FROM sqlite_schema").get() === undefined;
  if (!isEmpty) {
    const numberOf = (pragma: string) =>
      Number(database.prepare(`PRAGMA ${pragma}`).get()?.[pragma]);
    if (numberOf("application_id") !== applicationId)
      throw new Error("it is the database of another program");
    if (numberOf("user_version") !== version)
      throw new Error("it was written by another version of the sandbox");
    // Without this check, damage would go unnoticed until a damaged page is first read or written.
    const [damage] = Object.values(database.prepare("PRAGMA quick_check(1)").get() ?? {});
    if (damage !== "ok") throw new Error(`it is damaged: ${String(damage)}`);
  }
  // The lock is exclusive, because two sandboxes on one file would both make its pending attempts.
  database.exec(
    `PRAGMA locking_mode=EXCLUSIVE; PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL;
    PRAGMA secure_delete=ON;
    BEGIN IMMEDIATE;
    CREATE TABLE IF NOT EXISTS record (
      kind TEXT NOT NULL, id TEXT NOT NULL, value TEXT NOT NULL, PRIMARY KEY (kind, id)
    );
    PRAGMA application_id=${applicationId};
    PRAGMA user_version=${version};
    COMMIT`,
  );
  const put = database.prepare(
    `INSERT INTO record (kind, id, value) VALUES (?, ?, ?)
      ON CONFLICT (kind, id) DO UPDATE SET value = excluded.value`,
  );
  const select = database.prepare("SELECT value FROM record WHERE kind = ? AND id = ?");
  const drop = database.prepare("DELETE FROM record WHERE kind = ? AND id = ?");
  // An upsert keeps the rowid, so the records are in the order of their creation.
  const all = database.prepare("SELECT kind, id, value FROM record ORDER BY rowid");
  const writeAll = (changes: Iterable<Change>) => {
    for (const { kind, id, value } of changes) {
      if (value === undefined) drop.run(kind, id);
      else put.run(kind, id, encode(value));
    }
  };
  const transaction = (work: () => void) => {
    database.exec("BEGIN");
    try {
      work();
      database.exec("COMMIT");
    } catch (error) {
      rollBack(database);
      throw error;
    }
  };
  return {
    *load() {
      try {
        for (const { kind, id, value } of all.iterate()) {
          yield { kind: String(kind), id: String(id), value: decode(String(value)) };
        }
      } catch (error) {
        close(database);
        throw unusable(path, error);
      }
    },
    read(kind, id) {
      const row = select.get(kind, id);
      return row && decode(String(row["value"]));
    },
    write: (changes) => transaction(() => writeAll(changes)),
    replace: (records) =>
      transaction(() => {
        database.exec("DELETE FROM record WHERE kind <> 'checkpoint'");
        writeAll(records);
      }),
    close: () => close(database),
  };
}

function rollBack(database: Database): void {
  try {
    database.exec("ROLLBACK");
  } catch {
    // The error is ignored: on a full disk, SQLite may have rolled back by itself (lang_transaction.html, section 3.1).
  }
}

/**
 * Closes the database and leaves all records in its main file. `close` alone would release the file only when its
 * statements have been garbage-collected, and would leave records in the WAL, where they are lost if the file is moved.
 */
function close(database: Database): void {
  try {
    database.exec("PRAGMA journal_mode=DELETE; PRAGMA locking_mode=NORMAL; SELECT 1 FROM record");
  } finally {
    database.close();
  }
}

/** Returns the error for a data file that cannot be used. */
export function unusable(path: string, error: unknown): Error {
  const [reason, advice] = explained(path, error);
  return new Error(`The data file ${path} cannot be used: ${reason}. ${advice}`, { cause: error });
}

/** Returns the reason for an error, and its fix. */
function explained(path: string, error: unknown): readonly [string, string] {
  const mayNotWrite = [
    "this process has no permission to write to it",
    "Give the user of this process write permission for the file and its directory, or use another path.",
  ] as const;
  // Errors of the file system have these codes. Errors of SQLite are recognized by their messages below.
  const { code = "" } = error as NodeJS.ErrnoException;
  switch (code) {
    case "EISDIR":
      return ["it is a directory", `Use a file in it, such as ${join(path, "sandbox.db")}.`];
    case "ENOENT":
      return [`there is no directory ${dirname(path)}`, "Create the directory first."];
    case "ENOTDIR":
      return [`${dirname(path)} is not a directory`, "Use another path."];
    case "EACCES":
    case "EPERM":
    case "EROFS":
      return mayNotWrite;
  }
  const reason = messageOf(error).replace(/\.$/, "");
  if (reason.endsWith(notRegular)) return [reason, "Use another path."];
  if (/readonly|unable to open/i.test(reason)) return mayNotWrite;
  if (/disk I\/O|full/i.test(reason))
    return [reason, "Free some disk space, check the disk, and start the sandbox again."];
  return /locked|busy/i.test(reason)
    ? [
        reason,
        "Another process, such as a sandbox, has the file open: stop it, or use another file.",
      ]
    : [reason, "Use another path, or remove the file to start without any data."];
}

/** The property that marks bytes. No record has a property of this name. */
const mark = "$base64";

const encode = (value: unknown) =>
  JSON.stringify(value, (_key, member: unknown) =>
    member instanceof Uint8Array ? { [mark]: Buffer.from(member).toString("base64") } : member,
  );

// The bytes are decoded without a reviver, which would be called for each property and take twice as long.
const decode = (text: string): unknown => withBytes(JSON.parse(text));

function withBytes(value: unknown): unknown {
  if (typeof value !== "object" || value === null) return value;
  // The cast is safe, because records are plain data.
  const members = value as Record<string, unknown>;
  const base64 = members[mark];
  if (typeof base64 === "string") return new Uint8Array(Buffer.from(base64, "base64"));
  for (const [name, member] of Object.entries(members)) {
    if (typeof member === "object") members[name] = withBytes(member);
  }
  return value;
}
