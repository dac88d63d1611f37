import { createReceiver } from "@svc-webhooks/core";
import { describeWithRedis, redisServer } from "@svc-webhooks/kit/redis-server";
import { until } from "@svc-webhooks/kit/until";
import { fixture, signedDelivery } from "@svc-webhooks/testing";
import { Queue, Worker } from "bullmq";
import { expect, onTestFinished, test } from "vitest";
import { bullmqInbox } from "../src/index.js";

const secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";

describeWithRedis("a worker on BullMQ that is killed in the same job again and again", () => {
  test.each([
    ["with `workerOptions`, costs no attempt", true],
    ["without them, makes it a dead letter", false],
  ])("%s", async (_title, isGiven) => {
    const server = await redisServer();
    const connection = { host: "127.0.0.1", port: server.port, maxRetriesPerRequest: null };
    const queue = new Queue("mail", { connection });
    onTestFinished(async () => {
      await queue.close();
      await server.close();
    });
    const inbox = bullmqInbox(queue);
    let runs = 0;
    const receiver = createReceiver({
      secret,
      log: () => {},
      on: { "*": inbox(() => void (runs += 1)) },
    });
    const work = (given: Parameters<typeof inbox.processor>[0]) => {
      const worker = new Worker("mail", inbox.processor(given), {
        connection,
        ...(isGiven && inbox.workerOptions),
        // BullMQ notices a dead worker after these times, 30 s by default.
        lockDuration: 100,
        stalledInterval: 50,
      });
      worker.on("error", () => {});
      return worker;
    };
    await receiver.receive(await signedDelivery(fixture("email.sent"), { secret }));
    const stats = () => inbox.admin.stats();
    for (let kill = 0; kill < 100; kill += 1) {
      let hasStarted = false;
      const resume = () => {
        hasStarted = true;
        return new Promise<never>(() => {});
      };
      const worker = work({ resume });
      const isDead = async () => (await stats()).dead === 1;
      await until(async () => hasStarted || (await isDead()), "the job runs or is dead");
      await worker.close(true);
      if (await isDead()) break;
    }
    const worker = work(receiver);
    onTestFinished(() => worker.close());
    if (isGiven) {
      await until(async () => (await queue.getCompletedCount()) === 1, "the job is done");
      expect(await queue.getCompleted()).toMatchObject([{ attemptsMade: 1 }]);
    }
    expect(await stats()).toMatchObject({ dead: isGiven ? 0 : 1 });
    expect(runs).toBe(isGiven ? 1 : 0);
  });
});
