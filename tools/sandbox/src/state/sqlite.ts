import { createRequire } from "node:module";
import { assertValid } from "@svc-webhooks/core/adapter";

type Row = Readonly<Record<string, unknown>>;

interface Statement {
  run(...values: readonly string[]): unknown;
  get(...values: readonly string[]): Row | undefined;
  iterate(): Iterable<Row>;
}

/** The members of a SQLite database that the journal uses. */
export interface Database {
  exec(sql: string): void;
  prepare(sql: string): Statement;
  close(): void;
}

interface Sqlite {
  readonly DatabaseSync: new (file: string) => Database;
}

const name = "@photostructure/sqlite";

/**
 * Loads SQLite: the optional package if it is installed, which runs on all supported versions of Node, or else
 * `node:sqlite`, which Node has from 22.13.
 *
 * @throws ConfigError `invalid_option` if there is neither, with the command that installs the package
 */
export function loadSqlite(): Sqlite {
  const require = createRequire(import.meta.url);
  try {
    return require(name) as Sqlite;
  } catch (error) {
    // Any other error is thrown, because it means that an installed package is damaged.
    if ((error as NodeJS.ErrnoException).code !== "MODULE_NOT_FOUND") throw error;
  }
  const builtIn = process.getBuiltinModule?.("node:sqlite");
  const { peerDependencies } = require("@svc-webhooks/sandbox/package.json") as {
    readonly peerDependencies: Readonly<Record<string, string>>;
  };
  assertValid(
    builtIn !== undefined,
    "data",
    `\`data\` needs SQLite, which Node includes from version 22.13. Run \`npm install ${name}@${peerDependencies[name]}\`.`,
  );
  return builtIn as unknown as Sqlite;
}
