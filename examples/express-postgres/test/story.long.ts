import { fileURLToPath } from "node:url";
import { Pool } from "pg";
import { afterAll, beforeAll, expect, test, type TestContext } from "vitest";
import {
  describeWithPostgres,
  postgresServer,
  type PostgresServer,
} from "@svc-webhooks/kit/postgres-server";
import { npmStart } from "@svc-webhooks/kit/npm";
import { startStory } from "@svc-webhooks/kit/story";

const story = fileURLToPath(new URL("../dist/start.js", import.meta.url));
const direct = [process.execPath, "--liftoff-only", story] as const;
const readmeCommand = [...npmStart, "start", "-w", "examples/express-postgres"] as const;

const start = (
  context: TestContext,
  command: readonly [string, ...string[]],
  env: NodeJS.ProcessEnv = {},
) => startStory(context, command, { DATABASE_URL: "", ...env });

const steps = `
A is killed in its transaction: the rows of msg_1 are written but not committed.

  ✓ msg_1 to A     no response
  ✓ order_emails   msg_1 sent, msg_2 sent
  ✓ emails_done    0
  ✓ order_history  empty
  (the demo ends A's lease, which would last up to 10 s)
  ✓ msg_1 to B     200 processed

B is killed after its commit: msg_2 is done, but the sender got no response.

  ✓ msg_2 to B     no response
  ✓ msg_2 to C     200 duplicate
  ✓ order_emails   msg_1 delivered, msg_2 bounced
  ✓ emails_done    2
  ✓ order_history  msg_1 delivered, msg_2 bounced

Two kills, two effects.`;

test("without a server the demo restarts a process on a folder of PGlite", async (context) => {
  const { exitCode, stdout, leftBehind } = await start(context, readmeCommand).ended();
  expect(stdout).toContain(`are in PGlite in a new folder.\n${steps}`);
  expect(stdout).not.toContain("\u001b");
  expect({ exitCode, leftBehind }).toEqual({ exitCode: 0, leftBehind: [] });
});

test("Ctrl+C stops the processes and removes the folder", async (context) => {
  const demo = start(context, direct);
  await demo.printed("A is killed");
  demo.interrupt();
  expect(await demo.ended()).toMatchObject({ exitCode: 130, stderr: "", leftBehind: [] });
});

test("with an unreachable DATABASE_URL the demo reports it, and exits with 1", async (context) => {
  // Port 1 is reserved (tcpmux, RFC 1078); nothing listens there.
  const env = { DATABASE_URL: "postgres://postgres@127.0.0.1:1/postgres" };
  expect(await start(context, direct, env).ended()).toEqual({
    exitCode: 1,
    stdout: "Cannot create a database at DATABASE_URL: connect ECONNREFUSED 127.0.0.1:1\n",
    stderr: "",
    leftBehind: [],
  });
});

describeWithPostgres("with DATABASE_URL", () => {
  let server: PostgresServer;
  let pool: Pool;
  beforeAll(async () => {
    server = await postgresServer();
    pool = new Pool({ connectionString: server.connectionString });
  });
  afterAll(async () => {
    await pool?.end();
    await server?.close();
  });

  const databases = async () =>
    (await pool.query("select datname from pg_database where not datistemplate")).rows as unknown;

  test("processes share a database, which the demo drops", async (context) => {
    const demo = start(context, direct, { DATABASE_URL: server.connectionString });
    expect(await demo.ended()).toMatchObject({
      exitCode: 0,
      stdout: expect.stringContaining(`are in a new database at DATABASE_URL.\n${steps}`),
      // B finds that the run of A, which was killed, ended without a result.
      stderr: expect.stringMatching(
        /^svc-webhooks example: taken_over: \{"deliveryId":"dlv_of_msg_1".*\n$/,
      ),
    });
    expect(await databases()).toEqual([{ datname: "postgres" }]);
  });

  test("Ctrl+C stops the processes and drops the database", async (context) => {
    const demo = start(context, direct, { DATABASE_URL: server.connectionString });
    await demo.printed("A is killed");
    demo.interrupt();
    expect(await demo.ended()).toMatchObject({ exitCode: 130, stderr: "" });
    expect(await databases()).toEqual([{ datname: "postgres" }]);
  });
});
