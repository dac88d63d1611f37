import { randomBytes } from "node:crypto";
import type { Row, WorldState } from "@svc-webhooks/crash-test";
import { isOfUser, isStoreTable, naturalColumns, tableOf } from "@svc-webhooks/crash-test/postgres";
import { messageOf } from "../../errors.js";
import { loadInstalled } from "../../lib/module.js";
import { notRun } from "../not-run.js";
import type { Through } from "../environment.js";
import { isDead, ownOwner, ownerPattern } from "./owner.js";

/** The maximum size of a database that is copied, in bytes. */
const largest = 200 * 2 ** 20;

/** The prefix of the names of all databases that this command creates. */
const databasePrefix = "svc_webhooks_crash_test_";

interface Client {
  connect(): Promise<unknown>;
  query(
    text: string,
    values?: readonly unknown[],
  ): Promise<{ readonly rows: readonly Readonly<Record<string, unknown>>[] }>;
  end(): Promise<void>;
  on(event: "error", listener: () => void): unknown;
}

interface Pg {
  readonly Client: new (options: {
    readonly connectionString: string;
    readonly application_name: string;
  }) => Client;
}

const missingPg = (cause: unknown) =>
  notRun(
    "package_missing",
    "A PostgreSQL database requires the package pg, which is not installed.",
    "Install it next to @svc-webhooks/cli: npm install --save-dev pg.",
    cause,
  );

const quoted = (name: string) => `"${name.replaceAll('"', '""')}"`;

const withDatabase = (url: URL, name: string): URL => {
  const own = new URL(url);
  own.pathname = `/${encodeURIComponent(name)}`;
  return own;
};

/** Returns the name of the database that a URL selects. */
const databaseOf = ({ pathname, username }: URL): string =>
  decodeURIComponent(pathname.slice(1)) || decodeURIComponent(username) || "postgres";

/** A database of one history. */
export interface OwnDatabase {
  readonly name: string;
  readonly url: URL;
  /** Reads all tables of the user, except those of our store. */
  readonly read: () => Promise<WorldState["tables"]>;
  /** Resolves to the columns that the rows of `read` lack, such as `orders.id`. */
  readonly notCompared: () => Promise<readonly string[]>;
  /** Ends the leases in our store's tables. Resolves to whether the database has such tables. */
  readonly endLeases: () => Promise<boolean>;
  /** Advances each sequence by 1,000 increments, unless it would exceed its limits. */
  readonly shift: () => Promise<void>;
  readonly drop: () => Promise<void>;
}

/** A database server on which each history gets its own copy of a database. */
export interface DatabaseServer {
  /** The URL of the database that is copied: a copy of the original, or the one that `--prepare` fills. */
  readonly base: URL;
  readonly create: () => Promise<OwnDatabase>;
  /** Drops all databases that were created. */
  readonly close: () => Promise<void>;
}

/**
 * Copies a database once, and makes each history's copy from that copy, so that the original is read only once.
 *
 * @param isEmpty whether to start with an empty database, which `--prepare` fills, instead of a copy
 * @param note receives lines about databases of earlier runs that were dropped, and settings that were not copied
 */
export async function databaseServer(
  { name: variable, url }: Through,
  isEmpty: boolean,
  note: (text: string) => void,
): Promise<DatabaseServer> {
  const { Client } = ((await loadInstalled("pg", missingPg)) as { readonly default: Pg }).default;
  const original = databaseOf(url);
  const open = async (name: string): Promise<Client> => {
    const connectionString = withDatabase(url, name).href;
    const client = new Client({ connectionString, application_name: "svc-webhooks crash-test" });
    client.on("error", () => {});
    await client.connect();
    return client;
  };
  // Connects to another database, because PostgreSQL does not copy a database that has connections.
  const other = original === "postgres" ? "template1" : "postgres";
  const admin = await open(other).catch((error: unknown) => {
    throw notRun(
      "database_unreachable",
      `The PostgreSQL server in ${variable} did not accept a connection to the database ${other}: ${messageOf(error)}.`,
      `Start it, check the URL in ${variable}, and allow its user to connect to this database.`,
      error,
    );
  });
  const { copyOf, drop, close } = copiesBy(admin, variable, note);
  let count = 0;

  async function makeBase(): Promise<string> {
    if (isEmpty) return copyOf(undefined, "base");
    const { rows } = await admin.query("select pg_database_size($1)::text as bytes", [original]);
    const bytes = Number(rows[0]?.["bytes"] ?? 0);
    if (bytes > largest) {
      throw notRun(
        "database_too_large",
        `The database in ${variable} has a size of ${Math.round(bytes / 2 ** 20)} MiB, but the limit for a copy is ${largest / 2 ** 20} MiB.`,
        'To test with an empty database instead, pass the command that creates your tables, such as --prepare "npm run migrate".',
      );
    }
    return copyOf(original, "base");
  }

  let base: string;
  try {
    const dropped = await dropLeft(admin);
    if (dropped > 0) {
      const what = dropped === 1 ? "1 database" : `${dropped} databases`;
      note(
        `Dropped ${what} that an earlier run left on the server in ${variable} when it was killed.`,
      );
    }
    base = await makeBase();
  } catch (error) {
    await close();
    throw explained(error, variable);
  }
  return {
    base: withDatabase(url, base),
    close,
    async create() {
      count += 1;
      const name = await copyOf(base, String(count));
      const client = await open(name);
      await assertSelfContained(client, variable).catch(async (error: unknown) => {
        await client.end().catch(() => {});
        await drop(name);
        throw error;
      });
      return {
        name,
        url: withDatabase(url, name),
        read: () => readTables(client),
        notCompared: () => omittedColumns(client),
        endLeases: () => endLeases(client),
        shift: () => shift(client),
        async drop() {
          await client.end().catch(() => {});
          await drop(name);
        },
      };
    },
  };
}

/** Returns functions that create and drop the copies of one run. */
function copiesBy(admin: Client, variable: string, note: (text: string) => void) {
  const created = new Set<string>();
  /** The settings that could not be copied. Each is reported once. */
  const lacking = new Set<string>();
  const id = `${ownOwner()}_${randomBytes(3).toString("hex")}`;

  async function drop(name: string): Promise<void> {
    // Drops only databases that this run has created.
    if (created.has(name))
      await admin.query(`drop database if exists ${quoted(name)} with (force)`);
    created.delete(name);
  }

  /** Creates a database, empty or from a template, and resolves to its name. */
  async function copyOf(template: string | undefined, suffix: string): Promise<string> {
    const name = `${databasePrefix}${id}_${suffix}`;
    created.add(name);
    const from = template === undefined ? "" : ` template ${quoted(template)}`;
    await admin.query(`create database ${quoted(name)}${from}`);
    if (template === undefined) return name;
    for (const [setting, reason] of await copySettings(admin, template, name)) {
      if (!lacking.has(setting)) note(lackingText(variable, setting, reason));
      lacking.add(setting);
    }
    return name;
  }

  /** Drops all databases that were created, and closes the connection. */
  async function close(): Promise<void> {
    for (const name of created) await drop(name).catch(() => {});
    await admin.end().catch(() => {});
  }

  return { copyOf, drop, close };
}

/**
 * The query for the settings of a database, each written as `parameter=value`. A setting applies to one role, or to all
 * if `role` is null.
 */
const settingsOf = `
  select r.rolname as role, unnest(s.setconfig) as setting
  from pg_db_role_setting s join pg_database d on d.oid = s.setdatabase left join pg_roles r on r.oid = s.setrole
  where d.datname = $1`;

const parameterOf = (name: string) => name.split(".").map(quoted).join(".");

/**
 * Returns a setting's value as SQL. Quotes it unless it is a list of names, which PostgreSQL stores with their quotes.
 */
function valueOf(parameter: string, value: string): string {
  const isList = /^(?:search_path|temp_tablespaces|\w+_preload_libraries)$/.test(parameter);
  if (isList && value !== '""') return value;
  return `'${(isList ? "" : value).replaceAll("'", "''")}'`;
}

/**
 * Copies the settings of `alter database … set` and `alter role … in database … set`, because PostgreSQL does not copy
 * them from a template. Resolves to the settings that could not be copied, with the reason.
 */
async function copySettings(
  admin: Client,
  template: string,
  name: string,
): Promise<readonly (readonly [setting: string, reason: string])[]> {
  const lacking: (readonly [string, string])[] = [];
  const { rows } = await admin.query(settingsOf, [template]);
  for (const { role, setting } of rows) {
    const whose = typeof role === "string" ? `role ${quoted(role)} in database` : "database";
    const [parameter = "", value = ""] = String(setting).split(/=(.*)/s);
    const change = `set ${parameterOf(parameter)} to ${valueOf(parameter, value)}`;
    try {
      await admin.query(`alter ${whose} ${quoted(name)} ${change}`);
    } catch (error) {
      lacking.push([parameter, messageOf(error)]);
    }
  }
  return lacking;
}

const lackingText = (variable: string, setting: string, reason: string): string =>
  `The copies of the database in ${variable} lack its setting ${setting}: ${reason}.`;

/**
 * @throws Failure (as a rejection) `foreign_server` if the copy has a foreign server. Statements on the copy would write
 *   to the real tables behind that server
 */
async function assertSelfContained(client: Client, variable: string): Promise<void> {
  const { rows } = await client.query("select srvname from pg_foreign_server order by 1");
  if (rows.length === 0) return;
  const names = rows.map(({ srvname }) => String(srvname)).join(", ");
  throw notRun(
    "foreign_server",
    `The database in ${variable} has the foreign server ${names}, which is not copied: a copy would write to the real tables behind it.`,
    `Test with a database from which it is dropped (drop server … cascade), or pass the command that creates your tables in an empty database, such as --prepare "npm run migrate".`,
  );
}

/** Matches the name of a database that any run has created, and captures the owner. */
const ofRuns = new RegExp(`^${databasePrefix}(${ownerPattern})_[0-9a-f]{6}_(?:base|\\d+)$`);

/** Drops the databases that killed runs of this machine have left, and resolves to their number. */
async function dropLeft(admin: Client): Promise<number> {
  const { rows } = await admin.query(
    "select datname from pg_database where starts_with(datname, $1)",
    [databasePrefix],
  );
  let dropped = 0;
  for (const name of rows.map(({ datname }) => String(datname))) {
    const owner = ofRuns.exec(name)?.[1];
    if (owner === undefined || !isDead(owner)) continue;
    try {
      await admin.query(`drop database ${quoted(name)} with (force)`);
      dropped += 1;
    } catch {
      // The error is ignored: another run has probably dropped the database, or it belongs to another role.
    }
  }
  return dropped;
}

function explained(error: unknown, variable: string): unknown {
  const { code } = Object(error) as { readonly code?: unknown };
  if (code === "55006") {
    return notRun(
      "database_in_use",
      `The database in ${variable} has other connections, so it cannot be copied.`,
      'Close them, for example by stopping your server. To test with an empty database instead, pass the command that creates your tables, such as --prepare "npm run migrate".',
      error,
    );
  }
  if (code === "42501") {
    return notRun(
      "database_not_allowed",
      `The user in ${variable} is not allowed to create the test's database: ${messageOf(error)}.`,
      "Grant the permission with: alter role … createdb. To copy a database, the user must also own it.",
      error,
    );
  }
  if (code === "3D000") {
    return notRun(
      "database_missing",
      `The database in ${variable} does not exist: ${messageOf(error)}.`,
      `Create it, or correct the URL in ${variable}.`,
      error,
    );
  }
  return error;
}

const storeTables = `select format('%I.deliveries', n.nspname) as name from pg_class c
  join pg_namespace n on n.oid = c.relnamespace where c.relname = 'deliveries' and ${isStoreTable}`;

async function endLeases(client: Client): Promise<boolean> {
  const { rows } = await client.query(storeTables);
  for (const { name } of rows) {
    await client.query(
      `update ${String(name)} set lease_ends_at = now() where lease_ends_at > now()`,
    );
  }
  return rows.length > 0;
}

async function shift(client: Client): Promise<void> {
  await client.query(`select setval(format('%I.%I', schemaname, sequencename)::regclass,
    coalesce(last_value, start_value) + 1000 * increment_by) from pg_sequences
    where coalesce(last_value, start_value) + 1000 * increment_by between min_value and max_value`);
}

/** The query for the user's tables. For each, `omitted` contains the columns that are not compared. */
const tableList = `
  select format('%I.%I', n.nspname, c.relname) as name, ${naturalColumns} as omitted
  from pg_class c join pg_namespace n on n.oid = c.relnamespace
  where c.relkind in ('r', 'p') and not c.relispartition and ${isOfUser} and not ${isStoreTable}
  order by n.nspname, c.relname`;

async function readTables(client: Client): Promise<WorldState["tables"]> {
  const { rows: tables } = await client.query(tableList);
  const read: [string, readonly Row[]][] = [];
  for (const { name, omitted } of tables) {
    const { rows } = await client.query(
      `select to_jsonb(crash_test_row) - $1::text[] as row from ${String(name)} crash_test_row`,
      [omitted],
    );
    read.push([tableOf(String(name)), rows.map(({ row }) => row as Row)]);
  }
  return Object.fromEntries(read);
}

async function omittedColumns(client: Client): Promise<readonly string[]> {
  const { rows } = await client.query(tableList);
  return rows.flatMap(({ name, omitted }) =>
    (omitted as readonly string[]).map((column) => `${tableOf(String(name))}.${column}`),
  );
}
