import { appendFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { setTimeout as pause } from "node:timers/promises";
import {
  createReceiver,
  type ClaimRequest,
  type Clock,
  type DeliveryStore,
  type Receiver,
} from "@svc-webhooks/core";
import { webhooks } from "@svc-webhooks/node";
import { redisStore } from "@svc-webhooks/redis";
import { Redis } from "ioredis";
import { leaseMs, now, speed } from "./time.js";
import type { Effect } from "./verdict.js";

/** The settings from the parent, as JSON in the first argument. */
export interface ReceiverSettings {
  readonly redisPort: number;
  /** 0 means any free port. */
  readonly port: number;
  /** The file to which all effects are appended. */
  readonly effectLog: string;
  /** The status for copies of a running delivery. 200 is the mistake that loses events. */
  readonly inFlight: 200 | 503;
}

const stepMs = 50;

const settings = JSON.parse(process.argv[2] ?? "") as ReceiverSettings;

const fastClock: Clock = {
  now: () => Date.now(),
  monotonic: () => performance.now() * speed,
  after(delayMs, run) {
    const timer = setTimeout(run, delayMs / speed).unref();
    return () => clearTimeout(timer);
  },
};

/** Redis measures leases by its own clock, in real time, so its durations are divided by `speed`. */
function fastStore(store: DeliveryStore): DeliveryStore {
  const short = <Request extends ClaimRequest>(request: Request): Request => ({
    ...request,
    leaseMs: request.leaseMs / speed,
    retainMs: request.retainMs / speed,
  });
  return {
    ...store,
    async claim(key, request, call) {
      const result = await store.claim(key, short(request), call);
      return result.status === "busy"
        ? { ...result, leaseLeftMs: result.leaseLeftMs * speed }
        : result;
    },
    complete: (key, request, call) => store.complete(key, short(request), call),
    release: (key, request, call) => store.release(key, short(request), call),
    extend: (key, request, call) => store.extend(key, short(request), call),
  };
}

const receiver = createReceiver({
  secret: "whsec_test",
  name: "chaos",
  clock: fastClock,
  store: fastStore(redisStore(new Redis(settings.redisPort, "127.0.0.1"))),
  leaseMs,
  on: {
    "*": async ({ beforeMs, afterMs }, { deliveryId, run = 0, fence = 0 }) => {
      // In steps, so that a handler that was frozen still has work when it wakes, and needs its lease.
      for (let leftMs = Number(beforeMs); leftMs > 0; leftMs -= stepMs) {
        await pause(Math.min(leftMs, stepMs));
      }
      const effect: Effect = { deliveryId, run, fence, pid: process.pid, at: now() };
      // A single write with O_APPEND, so that lines of several processes do not mix.
      appendFileSync(settings.effectLog, `${JSON.stringify(effect)}\n`);
      await pause(Number(afterMs));
    },
  },
  // Store timeouts after a freeze are expected.
  log: () => {},
});

const receive: Receiver["receive"] = async (delivery, options) => {
  const outcome = await receiver.receive(delivery, options);
  return outcome.code === "in_flight" && settings.inFlight === 200
    ? { ...outcome, code: "duplicate", status: 200 }
    : outcome;
};

const server = createServer(webhooks({ receive }));
// Another process may have taken the port of a killed process.
server.once("error", () => server.listen(0, "127.0.0.1"));
server.listen(settings.port, "127.0.0.1");
server.on("listening", () => process.send?.((server.address() as AddressInfo).port));

process.once("SIGTERM", async () => {
  server.close();
  await receiver.drain({ deadlineMs: leaseMs * 2 });
  process.exit();
});
// The parent has exited.
process.once("disconnect", () => process.exit());
