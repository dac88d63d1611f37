/** One of the two receiver processes: an Express app on a store that both share. */
import { createReceiver } from "@svc-webhooks/core";
import { emailEvents } from "@svc-webhooks/events";
import { webhooks } from "@svc-webhooks/express";
import express from "express";
import { listen } from "../server.js";
import { secrets } from "../steps.js";
import { fastClock } from "./clock.js";
import type { FromReceiver } from "./messages.js";
import { fastRedisStore } from "./redis.js";
import { remoteStore } from "./shared-memory.js";

const report = (message: FromReceiver) => process.send?.(message);
const redisUrl = process.env["REDIS_URL"];

const receiver = createReceiver({
  name: "demo",
  secret: secrets.current,
  store: redisUrl ? await fastRedisStore(redisUrl) : remoteStore(),
  leaseMs: 10_000, // how long a dead process blocks its event; default 30 s
  clock: fastClock,
  log: () => {}, // the story shows what happens
  events: emailEvents,
  on: {
    "email.delivered": async (_event, { run = 0, fence = 0 }) => {
      report({ run, fence });
      // The first run still works when its process is killed.
      if (run === 1) await new Promise(() => {});
    },
  },
});

const { url } = await listen(express().post("/webhooks", webhooks(receiver)));
report({ url });

// The demo has exited.
process.once("disconnect", () => process.exit());
