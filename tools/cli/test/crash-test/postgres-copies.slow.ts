import { describeWithPostgres, postgresServer } from "@svc-webhooks/kit/postgres-server";
import { Client } from "pg";
import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest";
import { databaseServer } from "../../src/crash-test/databases/postgres.js";

describeWithPostgres("a copy of a database", () => {
  let server: Awaited<ReturnType<typeof postgresServer>>;
  beforeAll(async () => {
    server = await postgresServer();
  });
  afterAll(() => server.close());

  const urlOf = (name: string) => new URL(`postgres://postgres@127.0.0.1:${server.port}/${name}`);

  async function query(url: URL, ...texts: readonly string[]) {
    const client = new Client({ connectionString: url.href });
    await client.connect();
    try {
      let rows: readonly unknown[] = [];
      for (const text of texts) ({ rows } = await client.query<Record<string, unknown>>(text));
      return rows;
    } finally {
      await client.end();
    }
  }

  /** Creates a database, and opens the server of its copies. */
  async function copying(name: string, ...texts: readonly string[]) {
    await query(urlOf("postgres"), `create database ${name}`);
    await query(urlOf(name), ...texts);
    const notes: string[] = [];
    const through = { name: "DATABASE_URL", url: urlOf(name), kind: "postgres" } as const;
    const databases = await databaseServer(through, false, (text) => notes.push(text));
    onTestFinished(databases.close);
    return { databases, notes };
  }

  test("has the settings of the database, and those of its roles", async () => {
    const { databases, notes } = await copying(
      "with_settings",
      'create schema "My app"',
      'create table "My app".orders (id int)',
      "alter database with_settings set search_path = 'My app', public",
      "alter database with_settings set app.tenant = 'it''s, me'",
      "alter role postgres in database with_settings set statement_timeout = '77s'",
    );
    const read = `select current_setting('search_path') as path, current_setting('app.tenant') as tenant,
      current_setting('statement_timeout') as timeout, to_regclass('orders') is not null as found`;
    const expected = [
      { path: '"My app", public', tenant: "it's, me", timeout: "77s", found: true },
    ];
    expect(await query(urlOf("with_settings"), read)).toEqual(expected);
    const { url } = await databases.create();
    expect(await query(url, read)).toEqual(expected);
    expect(notes).toEqual([]);
  });

  test("lacks the settings that its user may not set, and a note says so once", async () => {
    await query(urlOf("postgres"), "create role limited login createdb");
    const { databases, notes } = await copying(
      "with_forbidden",
      "alter database with_forbidden owner to limited",
      "alter database with_forbidden set log_statement = 'all'",
      "alter database with_forbidden set search_path = ''",
    );
    await databases.close();
    const url = urlOf("with_forbidden");
    url.username = "limited";
    const through = { name: "DATABASE_URL", url, kind: "postgres" } as const;
    const limited = await databaseServer(through, false, (text) => notes.push(text));
    onTestFinished(limited.close);
    const { url: copy } = await limited.create();
    expect(await query(copy, "show search_path")).toEqual([{ search_path: '""' }]);
    expect(notes).toEqual([
      'The copies of the database in DATABASE_URL lack its setting log_statement: permission denied to set parameter "log_statement".',
    ]);
  });

  test("is refused if a foreign server leads out of it, with the fix", async () => {
    const { databases } = await copying(
      "with_foreign",
      "create foreign data wrapper anything",
      "create server warehouse foreign data wrapper anything",
    );
    await expect(databases.create()).rejects.toMatchObject({
      code: "foreign_server",
      exitCode: 3,
      message: expect.stringMatching(
        /DATABASE_URL has the foreign server warehouse, .* is not copied/,
      ),
      hint: expect.stringMatching(/drop server/),
    });
  });
});
