import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { outsideDirectory, root, run } from "@svc-webhooks/kit/programs";
import { describeWithPostgres, postgresServer } from "@svc-webhooks/kit/postgres-server";
import { reconciledService } from "@svc-webhooks/kit/reconciled-service";
import { oneRedis } from "@svc-webhooks/kit/one-redis";
import { describeWithRedis } from "@svc-webhooks/kit/redis-server";
import { bullmqInbox } from "@svc-webhooks/bullmq";
import type { DeliveryStore } from "@svc-webhooks/core";
import { migrate, postgresStore } from "@svc-webhooks/postgres";
import { redisStore } from "@svc-webhooks/redis";
import { Queue } from "bullmq";
import type { Redis } from "ioredis";
import { Pool } from "pg";
import { beforeAll, expect, onTestFinished, test } from "vitest";

const directory = outsideDirectory();
const command = join(root, "tools/cli/bin/svc-webhooks.js");

const module = (path: string) => JSON.stringify(`file://${join(root, path)}`);
const dependency = (name: string) => JSON.stringify(import.meta.resolve(name));

/** Writes the module that an operator passes as `--receiver`. `store` is an expression, with its imports. */
function receiverFile(name: string, imports: string, store: string): string {
  const file = join(directory, `${name}.mjs`);
  writeFileSync(
    file,
    `import { createReceiver } from ${module("packages/core/dist/main.js")};
    ${imports}
    export default createReceiver({
      name: "reconciled",
      secret: () => "",
      store: ${store},
      on: { "*": () => {} },
    });`,
  );
  return file;
}

type Report = Readonly<Record<string, unknown>>;

/** Runs the command with these options, as an operator does. */
async function reconcile(file: string, url: string, ...options: readonly string[]) {
  const args = [command, "reconcile", `--receiver=${file}`, `--base-url=${url}`, "--json"];
  const { exitCode, stdout, stderr } = await run(process.execPath, [...args, ...options], {
    cwd: directory,
  });
  expect(stderr).toBe("");
  return { exitCode, report: JSON.parse(stdout) as Report };
}

interface Given {
  readonly store: DeliveryStore;
  readonly file: string;
}

/** The tests of every store. The sandbox produces each difference, and the command has to find it. */
function testWith(given: () => Given): void {
  test("reports each difference in its own field, and repairs what can be repaired", async () => {
    const { store, file } = given();
    const service = await reconciledService(store);
    const done = await service.deliver("done");
    await service.deliver("failed");
    await service.deliver("parked");
    const dropped = await service.deliver("dropped");
    const swallowed = await service.deliver("swallowed");
    const forgotten = await service.deliver("forgotten");
    await service.advance(3_600_000);
    const held = await service.deliver("held");
    expect([done, dropped, swallowed, forgotten, held].flat()).toHaveLength(10);

    const counts = { done: 2, running: 0, failed: 2, parked: 2, queued: 0, unknown: 0, young: 0 };
    const first = await reconcile(file, service.url);
    expect(first).toMatchObject({
      exitCode: 1,
      report: {
        endpoint: { webhook_endpoint_id: service.endpointId, status: "active" },
        complete: true,
        reached_since: false,
        sent: 14,
        ...counts,
        missing_count: 4,
        missing: [...held, ...dropped],
        lost_count: 4,
        lost: [...forgotten, ...swallowed],
        redelivered: 0,
        problems: ["missing", "lost"],
      },
    });

    const second = await reconcile(file, service.url, "--redeliver");
    // A delivery that was not attempted yet cannot be redelivered.
    expect(second.report).toMatchObject({ missing_count: 4, redelivered: 2, skipped: 2 });
    // The two redeliveries fill the batch of those that are held.
    await service.advance(1_000);

    const third = await reconcile(file, service.url, "--redeliver");
    expect(third.report).toMatchObject({
      ...counts,
      done: 6,
      missing_count: 0,
      redelivered: 0,
      skipped: 0,
      lost: [...forgotten, ...swallowed],
      problems: ["lost"],
    });
    // The service never sends again what it has a 200 for, and nothing is handled twice.
    const handled = [done, forgotten, dropped, held].flat();
    expect(service.handled.toSorted()).toEqual(handled.toSorted());

    await service.archive();
    const fourth = await reconcile(file, service.url);
    expect(fourth).toMatchObject({
      exitCode: 1,
      report: { endpoint: { status: "archived" }, problems: ["lost", "silence"] },
    });
  });

  test("reports an archived endpoint although nothing else is wrong", async () => {
    const { store, file } = given();
    const service = await reconciledService(store);
    await service.deliver("done");
    expect(await reconcile(file, service.url)).toMatchObject({
      exitCode: 0,
      report: { done: 2, problems: [] },
    });
    await service.archive();
    expect(await reconcile(file, service.url)).toMatchObject({
      exitCode: 1,
      report: { done: 2, missing_count: 0, lost_count: 0, problems: ["silence"] },
    });
  });
}

describeWithRedis("svc-webhooks reconcile with Redis", () => {
  let client: Redis;
  let file: string;
  let port: number;
  oneRedis((given, server) => {
    client = given;
    port = server.port;
    file = receiverFile(
      "redis",
      `import { redisStore } from ${module("packages/redis/dist/index.js")};
      import { Redis } from ${dependency("ioredis")};`,
      `redisStore(new Redis(${port}, "127.0.0.1"))`,
    );
  });

  testWith(() => ({ store: redisStore(client), file }));

  test("reports every delivery as lost after a flush", async () => {
    const service = await reconciledService(redisStore(client));
    const ids = [...(await service.deliver("done")), ...(await service.deliver("done"))];
    await client.flushall();
    const { exitCode, report } = await reconcile(file, service.url, "--redeliver");
    expect([exitCode, report["lost_count"], report["redelivered"]]).toEqual([1, 4, 0]);
    expect((report["lost"] as readonly string[]).toSorted()).toEqual(ids.toSorted());
  });

  test("finds the jobs that wait in a queue of BullMQ", async () => {
    const connection = { host: "127.0.0.1", port };
    const queue = new Queue("reconciled", { connection });
    onTestFinished(() => queue.close());
    const inbox = bullmqInbox(queue);
    const service = await reconciledService(redisStore(client), { "*": inbox() });
    const waiting = await service.deliver("done");
    const lost = await service.deliver("swallowed");
    const admin = join(directory, "inbox.mjs");
    writeFileSync(
      admin,
      `import { bullmqInbox } from ${module("packages/bullmq/dist/index.js")};
      import { Queue } from ${dependency("bullmq")};
      export default bullmqInbox(new Queue("reconciled", { connection: ${JSON.stringify(connection)} }));`,
    );
    const without = await reconcile(file, service.url);
    expect(without.report).toMatchObject({ queued: 0, lost: [...lost, ...waiting] });
    const withAdmin = await reconcile(file, service.url, `--admin=${admin}`);
    expect(withAdmin.report).toMatchObject({ queued: 2, lost_count: 2, lost, problems: ["lost"] });
  });
});

describeWithPostgres("svc-webhooks reconcile with PostgreSQL", () => {
  let connectionString: string;
  let file: string;
  beforeAll(async () => {
    const server = await postgresServer();
    connectionString = server.connectionString;
    const pool = new Pool({ connectionString, max: 1 });
    await migrate(pool);
    await pool.end();
    file = receiverFile(
      "postgres",
      `import { postgresStore } from ${module("packages/postgres/dist/index.js")};
      import pg from ${dependency("pg")};`,
      `postgresStore(new pg.Pool(${JSON.stringify({ connectionString })}))`,
    );
    return () => server.close();
  });

  testWith(() => {
    const pool = new Pool({ connectionString, max: 4 });
    onTestFinished(() => pool.end());
    return { store: postgresStore(pool), file };
  });
});
