import { once } from "node:events";
import { webhooks } from "svc-webhooks/express";
import { redisStore } from "svc-webhooks/redis";
import express from "express";
import { Redis } from "ioredis";
import { listening, work } from "./part.js";
import { createMailReceiver } from "./receiver.js";

const redis = new Redis(process.env.REDIS_URL ?? "redis://127.0.0.1:6379");
redis.on("error", (error) => console.error("Redis:", error.message));

const receiver = createMailReceiver(work, {
  secret: process.env.SVC_WEBHOOK_SECRET ?? "",
  store: redisStore(redis, { prefix: process.env.STORE_PREFIX }),
});

const app = express();
app.post("/webhooks", webhooks(receiver));

await once(redis, "ready");
const server = app.listen(Number(process.env.PORT ?? 0), "127.0.0.1", () => listening(server));

process.once("SIGTERM", async () => {
  const deadlineMs = 20_000;
  const closed = new Promise((resolve) => server.close(resolve));
  setTimeout(() => server.closeAllConnections(), deadlineMs);
  const left = await receiver.drain({ deadlineMs });
  if (left > 0) console.error(`${left} deliveries were interrupted; later attempts will run them.`);
  // Handlers finish before their responses are sent; the server closes after that.
  await closed;
  redis.disconnect();
  process.exit();
});
