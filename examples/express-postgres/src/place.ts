import { randomUUID } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Pool } from "pg";
import { atEnd } from "./closing.js";

/** The database of the demo's rows. `closeAll` removes it. */
export interface Place {
  /** The description in printed lines. */
  readonly description: string;
  readonly env: NodeJS.ProcessEnv;
  /** Whether several processes can use the database at the same time. */
  readonly isShared: boolean;
}

/** Creates a database on the server at `DATABASE_URL`, or a folder for PGlite. */
export const openPlace = async (): Promise<Place> =>
  process.env.DATABASE_URL ? newDatabase(process.env.DATABASE_URL) : newFolder();

async function newDatabase(url: string): Promise<Place> {
  const name = `svc_webhooks_example_${randomUUID().replaceAll("-", "")}`;
  const pool = new Pool({ connectionString: url, max: 1, connectionTimeoutMillis: 5_000 });
  try {
    await pool.query(`create database ${name}`);
  } catch (error) {
    await pool.end();
    const { code, message } = error as { code?: string; message: string };
    // If a connection is refused on several addresses, its error has only a code.
    const text = `Cannot create a database at DATABASE_URL: ${message || code}`;
    throw new Error(text, { cause: error });
  }
  atEnd(async () => {
    await pool.query(`drop database ${name} with (force)`);
    await pool.end();
  });
  const own = new URL(url);
  own.pathname = name;
  return {
    description: "a new database at DATABASE_URL",
    env: { DATABASE_URL: own.href },
    isShared: true,
  };
}

function newFolder(): Place {
  const folder = mkdtempSync(join(tmpdir(), "express-postgres-"));
  atEnd(() => rmSync(folder, { recursive: true, force: true }));
  return {
    description: "PGlite in a new folder",
    env: { PGLITE_FOLDER: folder, DATABASE_URL: "" },
    isShared: false,
  };
}
