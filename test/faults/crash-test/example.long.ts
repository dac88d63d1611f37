import { join } from "node:path";
import { describeWithPostgres, postgresServer } from "@svc-webhooks/kit/postgres-server";
import { node, root } from "@svc-webhooks/kit/programs";
import { Pool } from "pg";
import { expect, onTestFinished, test } from "vitest";
import { nothing, nothingLeft, query, resultOf, start } from "./crash-testing.js";

describeWithPostgres("examples/express-postgres", () => {
  test("its orders have no finding", async () => {
    const server = await postgresServer();
    onTestFinished(() => server.close());
    await query(server, "create database example");
    const url = `postgres://postgres@127.0.0.1:${server.port}/example`;
    const example = join(root, "examples/express-postgres/dist");
    await node([join(example, "migrate.js")], { cwd: root, env: { DATABASE_URL: url } });
    const pool = new Pool({ connectionString: url });
    await pool.query("insert into orders (id) values (1)");
    await pool.query("insert into order_emails (email_id, order_id) values ('msg_email_1', 1)");
    await pool.end();
    const run = start(
      [
        `--start=node ${join(example, "server.js")}`,
        "--event=email.delivered",
        "--secret-env=SVC_WEBHOOK_SECRET",
        "--through=DATABASE_URL",
        "--json",
      ],
      { DATABASE_URL: url },
    );
    const { code, stdout, stderr } = await run.ended;
    expect([code, stderr]).toEqual([0, ""]);
    const { report, findings } = resultOf(stdout);
    expect(findings).toEqual([]);
    // claim, begin, three statements, complete and commit.
    expect(report.tried).toEqual([{ faults: 1, run: 24, of: 24 }]);
    expect([report.notReached, report.unsteady, report.unseen]).toEqual([[], [], []]);
    expect(await nothingLeft(run, server)).toEqual(nothing);
  });
});
