import { createRequire } from "node:module";
import { CrashTestError, type Row } from "@svc-webhooks/crash-test";
import { isOfUser, isStoreTable, naturalColumns, tableOf } from "@svc-webhooks/crash-test/postgres";
import { hostRequire } from "../globals/host.js";
import { inside } from "../virtual/inside.js";
import { query, replyOf } from "./wire.js";

/** The members of a PGlite database that this file uses. */
interface Pglite {
  execProtocolRawStream(
    message: Uint8Array,
    options: { readonly syncToFs: boolean; readonly onRawData: (bytes: Uint8Array) => void },
  ): Promise<void>;
}

/** The one session of PostgreSQL that all histories of this process use in turn. */
export interface Engine {
  /** Sends messages of the protocol, and resolves to the reply. */
  readonly exchange: (message: Buffer) => Promise<Buffer>;
}

/**
 * Loads and returns an optional package, which the project under test may lack.
 *
 * @param use names the package in the error, after "`world.pool` needs"
 * @throws CrashTestError `package_missing`
 */
export function optional(
  name: string,
  use: string,
  require: NodeJS.Require = createRequire(import.meta.url),
): unknown {
  try {
    return require(name) as unknown;
  } catch (error) {
    if ((error as { readonly code?: unknown }).code !== "MODULE_NOT_FOUND") throw error;
    throw new CrashTestError(
      "package_missing",
      `\`world.pool\` needs ${use}. Install it: npm install --save-dev @electric-sql/pglite pg`,
    );
  }
}

let starting: Promise<Engine> | undefined;

/**
 * Resolves to the engine. PGlite starts on the first call only, because its start takes seconds.
 *
 * @throws CrashTestError (as a rejection) `package_missing`
 */
function startEngine(): Promise<Engine> {
  // Leaves the history, because the start reads files and takes real time.
  return (starting ??= inside.exit(start));
}

async function start(): Promise<Engine> {
  const { PGlite } = optional(
    "@electric-sql/pglite",
    "PGlite, which runs PostgreSQL inside the test process",
    hostRequire(import.meta.url),
  ) as { readonly PGlite: { readonly create: () => Promise<Pglite> } };
  const database = await PGlite.create();
  let last: Promise<unknown> = Promise.resolve();
  const exchange = (message: Buffer): Promise<Buffer> => {
    // Calls `asDatabase` in the caller's context, so that PostgreSQL reads the clock of the caller's history.
    const reply = last.then(async () => asDatabase(message));
    last = reply.catch(() => {});
    return reply;
  };
  const asDatabase = (message: Buffer): Promise<Buffer> => {
    const current = inside.getStore();
    const execute = async () => {
      const parts: Uint8Array[] = [];
      // Streams the reply, because `execProtocolRaw` would also parse it and keep the result.
      const onRawData = (bytes: Uint8Array) => parts.push(Uint8Array.from(bytes));
      await database.execProtocolRawStream(message, { syncToFs: false, onRawData });
      return Buffer.concat(parts);
    };
    return current ? inside.run({ ...current, isDatabase: true }, execute) : execute();
  };
  return { exchange };
}

/** Runs SQL, and resolves to the first column of the first row, if any. Rejects if PostgreSQL reports an error. */
export async function run({ exchange }: Engine, sql: string): Promise<string | undefined> {
  const { error, value } = replyOf(await exchange(query(sql)));
  if (error !== undefined) throw new Error(`PostgreSQL: ${error} (${sql.slice(0, 200)})`);
  return value;
}

/** The schema of the functions and tables that this file creates. */
const own = "crash_test";

/** SQL that resets the session. `discard all` would be slower: PostgreSQL would plan the store's functions again. */
export const newSession =
  "rollback; set session authorization default; reset all; close all; deallocate all; unlisten *; select pg_advisory_unlock_all(); discard temp; discard sequences";

/** Resets the session, and replaces all schemas that earlier crash tests have created with an empty `public`. */
export const clear = (engine: Engine): Promise<string | undefined> =>
  run(
    engine,
    `${newSession};
    do $$ declare s text; begin
      for s in select quote_ident(nspname) from pg_namespace where nspname !~ '^pg_' and nspname <> 'information_schema' loop
        execute 'drop schema ' || s || ' cascade';
      end loop;
      create schema public;
    end $$`,
  );

interface Table {
  readonly name: string;
  readonly columns: readonly string[];
  /**
   * The columns whose values differ between runs, because a sequence, a time or a random value fills them, or because
   * they refer to such a column.
   */
  readonly natural: readonly string[];
  /** The columns of foreign keys, and the columns that they refer to. */
  readonly keys: readonly {
    readonly column: string;
    readonly table: string;
    readonly to: string;
  }[];
  readonly isOfStore: boolean;
}

const tablesOf = async (engine: Engine): Promise<readonly Table[]> =>
  withKeys(JSON.parse(String(await run(engine, tablesQuery))) as readonly Table[]);

/** Adds to `natural` the columns of foreign keys that refer to a natural column, directly or through other tables. */
function withKeys(tables: readonly Table[]): readonly Table[] {
  const naturalOf = new Map(tables.map(({ name, natural }) => [name, natural]));
  const extended = tables.map((table) => {
    const keys = table.keys.filter(({ table: other, to }) => naturalOf.get(other)?.includes(to));
    return {
      ...table,
      natural: [...new Set([...table.natural, ...keys.map(({ column }) => column)])],
    };
  });
  const isSame = extended.every(
    ({ natural }, index) => natural.length === tables[index]?.natural.length,
  );
  return isSame ? tables : withKeys(extended);
}

const tablesQuery = `
  select coalesce(jsonb_agg(jsonb_build_object(
    'name', format('%I.%I', n.nspname, c.relname),
    'isOfStore', ${isStoreTable},
    'columns', (select coalesce(jsonb_agg(format('%I', a.attname) order by a.attnum), '[]') from pg_attribute a
      where a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped and a.attgenerated = ''),
    'keys', (select coalesce(jsonb_agg(jsonb_build_object('column', a.attname, 'to', o.attname,
        'table', format('%I.%I', other.relnamespace::regnamespace::text, other.relname))), '[]')
      from pg_constraint k cross join lateral unnest(k.conkey, k.confkey) as u (here, there)
      join pg_attribute a on a.attrelid = k.conrelid and a.attnum = u.here
      join pg_attribute o on o.attrelid = k.confrelid and o.attnum = u.there
      join pg_class other on other.oid = k.confrelid
      where k.conrelid = c.oid and k.contype = 'f'),
    'natural', ${naturalColumns}
  ) order by n.nspname, c.relname), '[]')::text
  from pg_class c join pg_namespace n on n.oid = c.relnamespace
  where c.relkind = 'r' and ${isOfUser} and n.nspname <> '${own}'`;

/** The alias of a row in a query. It is unusual, because a column with the same name would hide the row. */
const alias = "crash_test_row";

/**
 * Returns a query for a table's name, and for its rows in the order in which they were written. The rows have only the
 * columns that are compared.
 */
function readingOf({ name, natural }: Table): string {
  const left = ["xmin", "cmin", "ctid", ...natural].map(literal).join(", ");
  const order = `${alias}.xmin::text::bigint, ${alias}.cmin::text::int, ${alias}.ctid`;
  const rows = `(select xmin, cmin, ctid, * from ${name}) ${alias}`;
  return `select ${literal(tableOf(name))} as name, (select coalesce(jsonb_agg(to_jsonb(${alias}) - array[${left}]::text[] order by ${order}), '[]') from ${rows}) as rows`;
}

const literal = (text: string): string => `'${text.replaceAll("'", "''")}'`;

function stateQuery(tables: readonly Table[]): string {
  const readings = tables.filter(({ isOfStore }) => !isOfStore).map(readingOf);
  // Aggregates the tables, because `jsonb_build_object` would limit their number: functions have at most 100 arguments.
  return readings.length === 0
    ? "select '{}'"
    : `select jsonb_object_agg(name, rows)::text from (${readings.join(" union all ")}) readings`;
}

const sequencesQuery = `
  select coalesce(string_agg(format('perform setval(%L, %s + step, %L);',
    format('%I.%I', schemaname, sequencename), coalesce(last_value, start_value), last_value is not null), ' '), '')
  from pg_sequences where schemaname !~ '^pg_' and schemaname <> '${own}'`;

const userTables = `pg_class c where c.relkind = 'r' and c.oid >= 16384 and c.relnamespace <> '${own}'::regnamespace`;

/** The database of one crash test: keeps, restores and reads the tables of the outside world. */
export class Database {
  #opening: Promise<Engine> | undefined;
  #leave: () => void = () => {};
  #isClosed = false;
  #restored = 0;
  #tables: readonly Table[] = [];
  /** Sends messages of a history to the engine, and resolves to the reply. The first call opens the engine. */
  readonly exchange = async (message: Buffer): Promise<Buffer> =>
    (await (this.#opening ??= inside.exit(() => this.#open()))).exchange(message);

  /** Waits until no other crash test of this process uses the engine, starts it, and empties its database. */
  async #open(): Promise<Engine> {
    const before = inUse;
    // The next crash test waits for `before` too: if this test ends early, an earlier one may still use the engine.
    const after = new Promise<void>((resolve) => {
      this.#leave = resolve;
    });
    inUse = Promise.all([before, after]);
    await before;
    if (this.#isClosed) throw new Error("The crash test that uses this pool has ended.");
    const engine = await startEngine();
    await clear(engine);
    this.#tables = await snapshot(engine);
    return engine;
  }

  /** Keeps the current state as the state with which each history starts. */
  async keep(): Promise<void> {
    if (this.#opening) this.#tables = await snapshot(await this.#opening);
  }

  /**
   * Restores the state that `keep` kept, with sequences advanced by `step`. If the engine was opened only after `keep`,
   * restores the empty database. Does nothing if the engine is not open.
   */
  async restore(step: number): Promise<void> {
    if (!this.#opening) return;
    const engine = await this.#opening;
    this.#restored += 1;
    // Cleans up every 100 restores, because PGlite has no background processes that remove dead rows and old WAL
    // segments.
    if (this.#restored % 100 === 0) {
      await run(engine, "vacuum");
      await run(engine, "checkpoint");
    }
    await run(engine, `select ${own}.restore(${step})`);
  }

  /** Resolves to the rows of all tables except the store's, without columns whose values differ between runs. */
  async read(): Promise<Readonly<Record<string, readonly Row[]>>> {
    if (!this.#opening) return {};
    const engine = await this.#opening;
    const known = await run(engine, `select ${own}.state()`);
    if (known === undefined) this.#tables = await tablesOf(engine);
    const state = known ?? (await run(engine, stateQuery(this.#tables)));
    return JSON.parse(String(state)) as Record<string, readonly Row[]>;
  }

  /** The columns that the last `read` left out of the rows, such as `orders.id`. */
  get notCompared(): readonly string[] {
    return this.#tables
      .filter(({ isOfStore }) => !isOfStore)
      .flatMap(({ name, natural }) => natural.map((column) => `${tableOf(name)}.${column}`));
  }

  /** Leaves the engine to the next crash test. If this test has not opened the engine yet, `exchange` now rejects. */
  close(): void {
    this.#isClosed = true;
    const leave = () => this.#leave();
    this.#opening?.then(leave, leave);
  }
}

/** Resolves when all crash tests that use the engine, or wait for it, have ended. */
let inUse: Promise<unknown> = Promise.resolve();

/** Copies all tables, and creates functions that restore and read them. Returns the tables. */
async function snapshot(engine: Engine): Promise<readonly Table[]> {
  await run(engine, `drop schema if exists ${own} cascade; create schema ${own}`);
  const tables = await tablesOf(engine);
  const sequences = String(await run(engine, sequencesQuery));
  const restores = tables.map(({ name, columns }, index) => {
    const list = columns.join(", ");
    const copied = `insert into ${name} (${list}) overriding system value select ${list} from ${own}.t${index};`;
    return `delete from ${name}; ${list === "" ? "" : copied}`;
  });
  await run(
    engine,
    `${tables.map(({ name }, index) => `create table ${own}.t${index} as table ${name};`).join("\n")}
    create table ${own}.known as select c.oid from ${userTables};
    create function ${own}.restore(step int) returns void language plpgsql as $crash_test$ declare created text; begin
      for created in select format('%I.%I', c.relnamespace::regnamespace::text, c.relname) from ${userTables} and c.oid not in (select oid from ${own}.known) loop
        execute 'drop table if exists ' || created || ' cascade';
      end loop;
      perform set_config('session_replication_role', 'replica', true);
      ${restores.join("\n")} ${sequences}
    end $crash_test$;
    create function ${own}.state() returns text language plpgsql as $crash_test$ begin
      if (select count(*) from ${userTables}) <> (select count(*) from ${own}.known) then return null; end if;
      return (${stateQuery(tables)});
    end $crash_test$`,
  );
  return tables;
}
