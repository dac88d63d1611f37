// The receiver and its queue. The server and the worker import this module.
import { bullmqInbox, queueConnection, workerConnection } from "svc-webhooks/bullmq";
import { createReceiver } from "svc-webhooks";
import { oncePerMinute } from "svc-webhooks/inbox";
import { redisStore } from "svc-webhooks/redis";
import { Queue } from "bullmq";
import { Redis } from "ioredis";
import { written } from "./part.mjs";

const url = process.env.REDIS_URL ?? "redis://localhost:6379";
// An outage repeats its messages many times a second.
export const log = oncePerMinute((error) => console.error("Redis:", error.message));

// The store and the worker wait for a Redis that is lost, because the queue keeps their jobs.
export const redis = new Redis(url, workerConnection);
redis.on("error", log);

// Requests do not: they end as queue_unavailable (503).
export const queueRedis = new Redis(url, queueConnection);
export const queue = new Queue("orders", { connection: queueRedis });
queue.on("error", log);

export const inbox = bullmqInbox(queue);

export const receiver = createReceiver({
  secret: process.env.SVC_WEBHOOK_SECRET ?? "",
  name: "orders",
  store: redisStore(redis),
  leaseMs: 10_000, // how long a dead process blocks its event; default 30 s
  on: {
    "email.delivered": inbox(async (event, { idempotencyKey, run }) => {
      const { email_id: emailId } = event.data;
      await redis.rpush("runs", `${emailId} run ${run}`);
      // A second run writes the same field again, so two runs have one effect.
      await redis.hset("emails", idempotencyKey, emailId);
      await written(emailId);
    }),
  },
});
