import { bullmqInbox } from "@svc-webhooks/bullmq";
import { createReceiver } from "@svc-webhooks/core";
import { describeWithPostgres, postgresServer } from "@svc-webhooks/kit/postgres-server";
import { until } from "@svc-webhooks/kit/until";
import { fixture, signedDelivery } from "@svc-webhooks/testing";
import { createPostgresBackend, Queue, Worker } from "bullmq";
import { afterAll, beforeAll, expect, test } from "vitest";
import { bullmqContract } from "./bullmq-contract.js";

describeWithPostgres("BullMQ on PostgreSQL", () => {
  let server: Awaited<ReturnType<typeof postgresServer>>;
  const connection = () => ({ connectionString: server.connectionString, migrate: true });
  beforeAll(async () => {
    server = await postgresServer();
  });
  afterAll(() => server.close());
  bullmqContract({
    connection: () => ({ queue: connection(), worker: connection() }),
    factory: createPostgresBackend,
  });

  test("does not run a new job again that dies before its state is read", async () => {
    let runs = 0;
    const options = { connection: connection() };
    const queue = new Queue("early", options, createPostgresBackend);
    const late = Object.create(queue, {
      getJobState: {
        async value(id: string) {
          if (runs === 0) {
            await until(async () => (await queue.getJobState(id)) === "failed", "it is dead");
          }
          return queue.getJobState(id);
        },
      },
    }) as Queue;
    const inbox = bullmqInbox(late, { retry: { limit: 1 } });
    const receiver = createReceiver({
      secret: "whsec_test",
      logger: { info() {}, warn() {}, error() {} },
      on: {
        "*": inbox(() => {
          runs += 1;
          if (runs === 1) throw new Error("The handler failed.");
        }),
      },
    });
    const worker = new Worker(
      "early",
      inbox.processor(receiver),
      { ...options, ...inbox.workerOptions },
      createPostgresBackend,
    );
    const delivery = await signedDelivery(fixture("email.sent"), { secret: "whsec_test" });
    expect((await receiver.receive(delivery)).code).toBe("enqueued");
    expect(await inbox.admin.stats()).toMatchObject({ ready: 0, active: 0, dead: 1 });
    expect((await receiver.receive(delivery)).code).toBe("enqueued");
    await until(async () => (await inbox.admin.stats()).dead === 0, "the copy runs it again");
    await worker.close();
    await queue.close();
    expect(runs).toBe(2);
  });
});
