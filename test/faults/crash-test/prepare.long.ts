import { describeWithPostgres } from "@svc-webhooks/kit/postgres-server";
import { listen } from "@svc-webhooks/kit/servers";
import { expect, onTestFinished, test } from "vitest";
import { nothing, nothingLeft, query, serverWithTables, start } from "./crash-testing.js";

describeWithPostgres("--prepare", () => {
  test("reaches only what the command has created", async () => {
    const server = await serverWithTables();
    onTestFinished(() => server.close());
    await query(server, "create database other");
    const real: string[] = [];
    const port = await listen((request, response) => {
      real.push(`${request.method} ${request.url}`);
      response.end();
    });
    const other = server.url.replace("/app", "/other");
    const prepare = [
      'for url in "$DATABASE_URL" "$OTHER_URL"; do psql -q "$url" -c "create table seen (id text primary key)" -c "create table orders (n serial, event text)"; done',
      'test -z "$LEDGER_URL" && test -n "$http_proxy"',
      '! psql -c "create table reached ()"',
      'curl -sf -X POST "$PAY_URL/seed"',
    ].join(" && ");
    const run = start(
      [
        "--start=node test/faults/crash-test/servers/express.js",
        "--event=email.delivered",
        "--secret-env=SIGNING_SECRET",
        "--through=DATABASE_URL",
        "--through=OTHER_URL",
        "--through=LEDGER_URL",
        "--stub=PAY_URL",
        "--list",
        "--prepare",
        prepare,
      ],
      {
        DATABASE_URL: server.url,
        OTHER_URL: other,
        LEDGER_URL: `http://127.0.0.1:${port}`,
        PAY_URL: `http://127.0.0.1:${port}`,
        HANDLER: "correct",
        PGHOST: "127.0.0.1",
        PGPORT: new URL(server.url).port,
        PGUSER: "postgres",
        PGDATABASE: "other",
      },
    );
    const { code, stderr } = await run.ended;
    expect(code).toBe(0);
    expect(stderr).toMatch(
      /^Your server runs without PGHOST, PGPORT, PGUSER, PGDATABASE and .*\nOTHER_URL was named .*\nLEDGER_URL was named .*\n$/,
    );
    expect(real).toEqual([]);
    const tables = "select 1 from pg_tables where tablename in ('orders', 'reached')";
    expect(await query({ ...server, connectionString: other }, tables)).toEqual([]);
    expect(await nothingLeft(run, server)).toEqual(nothing);
  });
});
