import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { setTimeout as pause } from "node:timers/promises";
import { createReceiver, type Handler, type Receiver } from "@svc-webhooks/core";
import { webhooks } from "@svc-webhooks/node";
import { backendOf, type Site } from "./backend.js";
import { fastClock, fastStore } from "./fast.js";
import { leaseMs } from "./time.js";

/** The settings that the parent passes as JSON in the first argument. */
export interface ReceiverSettings {
  readonly site: Site;
  /** The port to listen on, or 0 for any free port. */
  readonly port: number;
  /** The status of responses to copies of a running delivery. 200 is the mistake that loses events. */
  readonly inFlight: 200 | 503;
  /** The port of the Redis server whose queue the handlers run from. Default: they run in the request. */
  readonly queuePort?: number | undefined;
}

const stepMs = 50;

const settings = JSON.parse(process.argv[2] ?? "") as ReceiverSettings;

const { store, apply } = await backendOf(settings.site);

const handler: Handler<Record<string, unknown>> = async ({ beforeMs, afterMs }, context) => {
  // The handler works in steps, so that after a freeze it still has work left, for which it needs its lease.
  for (let leftMs = Number(beforeMs); leftMs > 0; leftMs -= stepMs) {
    await pause(Math.min(leftMs, stepMs));
  }
  await apply(context, Number(afterMs));
};

const { queuePort } = settings;
const queue =
  queuePort === undefined ? undefined : (await import("./queue.js")).openQueue(queuePort);

const receiver = createReceiver({
  secret: "whsec_test",
  name: "chaos",
  clock: fastClock,
  store: fastStore(store),
  leaseMs,
  // On a busy machine, every call could be late otherwise.
  storeTimeouts: { claim: leaseMs, complete: leaseMs, release: leaseMs },
  on: { "*": queue ? queue.inbox(handler) : handler },
  // Not logged, because store timeouts are expected after a freeze.
  log: () => {},
});

const receive: Receiver["receive"] = async (delivery, options) => {
  const outcome = await receiver.receive(delivery, options);
  return outcome.code === "in_flight" && settings.inFlight === 200
    ? { ...outcome, code: "duplicate", status: 200 }
    : outcome;
};

const worker = queue?.work(receiver);

const server = createServer(webhooks({ receive }));
// Another process may have taken the port since its last owner was killed.
server.once("error", () => server.listen(0, "127.0.0.1"));
server.listen(settings.port, "127.0.0.1");
server.on("listening", () => process.send?.((server.address() as AddressInfo).port));

process.once("SIGTERM", async () => {
  server.close();
  // Without `true`, `close` never resolves if its connection is being restored (BullMQ's issue 4656). `drain` waits
  // for the runs.
  await worker?.close(true);
  await receiver.drain({ deadlineMs: leaseMs * 2 });
  process.exit();
});
// The parent has exited, so this process exits too.
process.once("disconnect", () => process.exit());
