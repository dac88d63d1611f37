import { pgBossInbox } from "@svc-webhooks/pg-boss";
import { inboxContract } from "@svc-webhooks/testing/inbox";
import {
  describeWithPostgres,
  postgresServer,
  type PostgresServer,
} from "@svc-webhooks/kit/postgres-server";
import { tcpProxy } from "@svc-webhooks/kit/tcp-proxy";
import { afterAll, beforeAll, describe, test } from "vitest";
import { selecting } from "../../contracts/contract-cases.js";
import { bossOf } from "./boss.js";

/** Registers only the cases about silent connections: `contract.engine.ts` runs the others. */
const runner = selecting({ describe, it: test.concurrent }, /silently died/);

describeWithPostgres("an inbox on pg-boss", () => {
  let server: PostgresServer;
  beforeAll(async () => {
    server = await postgresServer();
  });
  afterAll(() => server?.close());

  let queues = 0;

  inboxContract(
    runner,
    "leaves connections of pg-boss that have silently died",
    async ({ attempts }) => {
      const queue = `connections-${(queues += 1)}`;
      const opened: (() => Promise<unknown>)[] = [];
      const connect = async () => {
        const proxy = await tcpProxy(server.port);
        const boss = bossOf(server.connectionString.replace(/:\d+\//, `:${proxy.port}/`));
        await boss.start();
        const inbox = pgBossInbox(boss, { queue, retry: { limit: attempts } });
        await inbox.setup();
        opened.push(async () => {
          await boss.stop({ graceful: false });
          await proxy.close();
        });
        return {
          inbox,
          admin: inbox.admin,
          async work(receiver: Parameters<typeof inbox.work>[0]) {
            const worker = await inbox.work(receiver);
            return { stop: () => worker.stop({ deadlineMs: 1_000 }) };
          },
          silence: () => void proxy.abandon(),
        };
      };
      return {
        connect,
        inject: () => Promise.reject(new Error("No case of these injects a job.")),
        close: () => Promise.all(opened.map((close) => close())),
      };
    },
    { kill: false, silence: true },
  );
});
