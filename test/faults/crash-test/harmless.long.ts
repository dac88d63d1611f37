import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describeWithPostgres } from "@svc-webhooks/kit/postgres-server";
import { describeWithRedis, redisServer } from "@svc-webhooks/kit/redis-server";
import { until } from "@svc-webhooks/kit/until";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import {
  copiesIn,
  nothing,
  nothingLeft,
  query,
  resultOf,
  runsHistory,
  serverWithTables,
  start,
} from "./crash-testing.js";

const common = ["--event=email.delivered", "--secret-env=SIGNING_SECRET"];
const express = ["--start", "node test/faults/crash-test/servers/express.js", ...common];
const withDatabase = [...express, "--through=DATABASE_URL", "--stub=PAY_URL", "--stub=MAIL_URL"];

/** The note that the correct handler sends no mail. */
const unused: unknown = expect.stringMatching(/^MAIL_URL was named but never used, .*\n$/);

/** A database of somebody else, whose name only begins like those of the command. */
const kept = "svc_webhooks_crash_test_notes";

describeWithPostgres("nothing is left behind", () => {
  let server: Awaited<ReturnType<typeof serverWithTables>>;
  beforeAll(async () => {
    server = await serverWithTables();
  });
  afterAll(() => server.close());

  test.each([
    ["SIGINT", 130],
    ["SIGTERM", 143],
  ] as const)("after %s in a history", async (signal, code) => {
    const run = start(withDatabase, { DATABASE_URL: server.url, HANDLER: "correct" });
    await runsHistory(run, server);
    run.interrupt(signal);
    expect((await run.ended).code).toBe(code);
    expect(await nothingLeft(run, server)).toEqual(nothing);
  });

  test("after a server that ends before it listens", async () => {
    const args = ["--start", "echo no configuration; exit 7", ...common, "--through=DATABASE_URL"];
    const run = start(args, { DATABASE_URL: server.url });
    const { code, stdout, stderr } = await run.ended;
    expect([code, stdout]).toEqual([3, ""]);
    expect(stderr).toMatch(/ended with exit code 7 before it listened .*no configuration/);
    expect(await nothingLeft(run, server)).toEqual(nothing);
  });

  test("after a server that never listens, and its process in another session", async () => {
    const args = ["--start", "setsid sleep 1000 & sleep 1000", ...common, "--through=DATABASE_URL"];
    const run = start(args, { DATABASE_URL: server.url });
    const { code, stderr } = await run.ended;
    expect(code).toBe(3);
    expect(stderr).toMatch(/did not listen on port \d+ within 30 s\. Make it listen on 127/);
    expect(await nothingLeft(run, server)).toEqual(nothing);
  });

  test("after a server that leaves its session and survives the fault crash, with the fix", async () => {
    const program = "setsid node test/faults/crash-test/servers/express.js & exec sleep 1000";
    const args = [...withDatabase.with(1, program), "--faults=crash"];
    const run = start(args, { DATABASE_URL: server.url, HANDLER: "correct" });
    const { code, stdout, stderr } = await run.ended;
    expect([code, stdout]).toEqual([3, ""]);
    expect(stderr).toMatch(
      /still listens on port \d+ after .* killed, .*crash cannot be tried\. Start .* foreground/,
    );
    expect(await nothingLeft(run, server)).toEqual(nothing);
  });

  test("after a client that insists on TLS, with the fix", async () => {
    const run = start(withDatabase, {
      DATABASE_URL: server.url,
      HANDLER: "correct",
      INSIST_ON_TLS: "1",
    });
    const { code, stdout, stderr } = await run.ended;
    expect([code, stdout]).toEqual([3, ""]);
    expect(stderr).toMatch(/requires TLS for DATABASE_URL.*DATABASE_URL has sslmode=disable/);
    expect(await nothingLeft(run, server)).toEqual(nothing);
  });

  test("a database with other connections is refused, and the fix works", async () => {
    const holder = query({ ...server, connectionString: server.url }, "select pg_sleep(1000)");
    holder.catch(() => {});
    onTestFinished(async () => {
      await query(
        server,
        "select pg_terminate_backend(pid) from pg_stat_activity where datname = 'app'",
      );
    });
    await until(
      async () =>
        (await query(server, "select 1 from pg_stat_activity where datname = 'app'")).length > 0,
      "the database has a connection",
    );
    const env = { DATABASE_URL: server.url, HANDLER: "correct" };
    const refused = start(withDatabase, env);
    const { code, stderr } = await refused.ended;
    expect(code).toBe(3);
    expect(stderr).toMatch(/DATABASE_URL has other connections.*--prepare/);
    const prepare =
      'psql "$DATABASE_URL" -c "create table seen (id text primary key); create table orders (n serial, event text)"';
    const run = start([...withDatabase, "--prepare", prepare, "--list"], env);
    const result = await run.ended;
    expect(result).toMatchObject({ code: 0, stderr: unused });
    expect(result.stdout).toContain("insert into orders");
    expect(await nothingLeft(run, server)).toEqual(nothing);
  });

  test("after SIGKILL of the command, no process is left, and the next command drops its databases, and only those", async () => {
    const env = { DATABASE_URL: server.url, HANDLER: "correct" };
    const program = "setsid sleep 1000 & exec node test/faults/crash-test/servers/express.js";
    const killed = start(withDatabase.with(1, program), env);
    await runsHistory(killed, server);
    killed.interrupt("SIGKILL");
    await killed.ended;
    await until(() => killed.processes().length === 0, "all processes have exited");
    const left = await copiesIn(server);
    expect(left.length).toBeGreaterThan(1);
    await query(server, `create database ${kept}`);

    const running = start(withDatabase, { DATABASE_URL: server.url, HANDLER: "correct" });
    await until(
      async () => (await copiesIn(server)).some((name) => name !== kept && !left.includes(name)),
      "the next command has databases",
    );
    const last = start([...withDatabase, "--list"], {
      DATABASE_URL: server.url,
      HANDLER: "correct",
    });
    expect(await last.ended).toMatchObject({ code: 0, stderr: unused });
    running.interrupt("SIGTERM");
    const { code, stderr } = await running.ended;
    expect(code).toBe(143);
    expect(stderr).toMatch(
      new RegExp(
        `^Dropped ${left.length} databases that an earlier run left on the server in DATABASE_URL`,
      ),
    );
    expect(await copiesIn(server)).toEqual([kept]);
    await query(server, `drop database ${kept}`);
  });

  test("the original database is never changed", async () => {
    const run = start([...withDatabase, "--at=crash@10"], {
      DATABASE_URL: server.url,
      HANDLER: "insert without transaction",
    });
    await run.ended;
    const original = { ...server, connectionString: server.url };
    expect(await query(original, "select from orders")).toEqual([]);
    expect(await query(original, "select from seen")).toEqual([]);
    expect(await copiesIn(server)).toEqual([]);
  });
});

describeWithRedis("a Redis database", () => {
  test("with keys is refused if no other server can be started, and keeps them", async () => {
    const redis = await redisServer();
    onTestFinished(() => redis.close());
    const cli = (...args: readonly string[]) =>
      spawnSync("redis-cli", ["-p", String(redis.port), ...args], { encoding: "utf8" }).stdout;
    cli("set", "mine", "1");
    const run = start([...express, "--through=REDIS_URL"], {
      REDIS_URL: `redis://127.0.0.1:${redis.port}`,
      PATH: "/nonexistent",
    });
    const { code, stderr } = await run.ended;
    expect(code).toBe(3);
    expect(stderr).toMatch(/Redis database in REDIS_URL contains 1 key, .*Install redis-server/);
    expect(cli("get", "mine")).toBe("1\n");
    expect(await nothingLeft(run)).toEqual(nothing);
  });

  /** Starts a server, and a folder of programs without `redis-server`. */
  async function sharedRedis() {
    const redis = await redisServer();
    onTestFinished(() => redis.close());
    const folder = mkdtempSync(join(tmpdir(), "svc-webhooks-"));
    onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
    symlinkSync(process.execPath, join(folder, "node"));
    const cli = (...args: readonly string[]) =>
      spawnSync("redis-cli", ["-p", String(redis.port), "-n", "1", ...args], { encoding: "utf8" })
        .stdout;
    const url = `redis://127.0.0.1:${redis.port}/1`;
    return { cli, url, folder };
  }

  const receiver = [
    "--start=exec node test/faults/crash-test/servers/redis.js",
    "--event=email.delivered",
    "--through=REDIS_URL",
    "--faults=crash",
    "--json",
  ];

  test.each([
    ["of its own for each history", process.env["PATH"], ["crash@4", "crash@5"], []],
    // One history is enough to show that the server is empty again after it.
    ["that was empty, if no other server can be started", undefined, ["crash@4"], ["--at=crash@4"]],
  ])("%s, in which an increment is doubled", async (_what, path, cells, args) => {
    const { cli, url, folder } = await sharedRedis();
    const run = start([...receiver, ...args], { REDIS_URL: url, PATH: path ?? folder });
    const { stdout, stderr } = await run.ended;
    expect(stderr).toBe("");
    const { findings, report } = resultOf(stdout);
    expect(findings).toEqual(["duplicate INCR mails"]);
    expect(report.findings[0]?.cells).toEqual(cells);
    expect(cli("dbsize")).toBe("0\n");
    expect(await nothingLeft(run)).toEqual(nothing);
  });

  test("of its own ends with the command, even after SIGKILL", async () => {
    const { url } = await sharedRedis();
    const run = start(receiver, { REDIS_URL: url });
    await until(() => run.files().length > 0 && run.processes().length > 2, "a history runs");
    run.interrupt("SIGKILL");
    await run.ended;
    await until(() => run.processes().length + run.files().length === 0, "nothing is left");
    expect(await nothingLeft(run)).toEqual(nothing);
  });

  test("keeps a key of another program, and the command ends", async () => {
    const { cli, url, folder } = await sharedRedis();
    const run = start(receiver, { REDIS_URL: url, PATH: folder });
    await until(() => cli("dbsize") !== "0\n", "a history has written");
    cli("set", "theirs", "1");
    const { code, stderr } = await run.ended;
    expect(code).toBe(3);
    expect(stderr).toMatch(
      /contains keys \(1\), which this command did not delete: they were not written by/,
    );
    expect(cli("keys", "*")).toBe("theirs\n");
  });

  test("keeps what a script has written, and the command says so", async () => {
    const { cli, url, folder } = await sharedRedis();
    const run = start(receiver, { REDIS_URL: url, PATH: folder, WITH_SCRIPT: "1" });
    const { code, stderr } = await run.ended;
    expect(code).toBe(3);
    expect(stderr).toMatch(/did not delete: it cannot know which keys were written by EVAL/);
    expect(cli("keys", "*")).toBe("mails:sent\n");
  });
});

describe("what is not named", () => {
  test("a remote host is refused and reported", async () => {
    const code = `
      import { createServer, request } from "node:http";
      createServer((_incoming, response) => {
        const sending = request({
          host: new URL(process.env.HTTP_PROXY).hostname,
          port: new URL(process.env.HTTP_PROXY).port,
          path: "http://api.example.com/charges",
          method: "POST",
        });
        sending.end().on("response", (reply) => reply.resume().on("end", () => response.end()));
      }).listen(process.env.PORT, "127.0.0.1");`;
    const program = `node --input-type=module -e "$PROGRAM"`;
    const run = start(["--start", program, ...common, "--json", "--yes"], { PROGRAM: code });
    const { code: exitCode, stderr } = await run.ended;
    // The server has no other effect.
    expect([exitCode, stderr]).toEqual([
      3,
      expect.stringContaining(
        "Access where no fault was tried: a request to api.example.com, refused.",
      ),
    ]);
    expect(await nothingLeft(run)).toEqual(nothing);
  });
});
