import { AssertionError, equal, ok } from "node:assert/strict";
import { signedDelivery } from "../../signed-delivery.js";
import { gate, type InboxCase, type InboxProbe, type Process } from "../probe.js";

/** Checks that a process can store events again, by storing a new event, and that this event runs. */
async function recovers(probe: InboxProbe, process: Process): Promise<void> {
  const delivery = await probe.accept(process);
  await probe.until("the event has run", () => probe.runsOf(delivery)[0]?.endedAt !== undefined);
}

/** Returns whether `stats` resolves. Fails the case if the call does not settle in time. */
async function hasStats(probe: InboxProbe, { admin }: Process): Promise<boolean> {
  try {
    await probe.settled("stats() has settled", admin.stats());
    return true;
  } catch (error) {
    if (error instanceof AssertionError) throw error;
    return false;
  }
}

/** The maximum text length of a large body, and a number of large bodies that exceeds the room that `fill` leaves. */
const [largestBytes, tooMany] = [100_000, 2_000];

/** Cases about servers that no longer respond, are no longer the primary, or are full. */
export const connections: readonly InboxCase[] = [
  {
    title: "after its connections have silently died, a process stores and runs jobs again",
    needs: ["silence"],
    async run(probe) {
      const process = await probe.worker();
      await probe.passes(process);
      await process.silence();
      await recovers(probe, process);
    },
  },
  {
    title: "a process whose connections silently died before its first job stores that job",
    needs: ["silence"],
    async run(probe) {
      const process = await probe.process();
      await process.silence();
      await probe.accept(process);
    },
  },
  {
    title: "the functions for operators settle although the connections have silently died",
    needs: ["admin", "silence"],
    async run(probe) {
      const process = await probe.worker();
      await probe.passes(process);
      await process.silence();
      const { admin } = process;
      const calls = Promise.allSettled([
        admin.stats(),
        admin.get(crypto.randomUUID()),
        probe.list(process, { state: "dead" }),
      ]);
      await probe.settled("stats, get and list have settled", calls);
      await probe.until("stats() has a result again", () => hasStats(probe, process));
    },
  },
  {
    title: "a worker stops although its connections have silently died",
    needs: ["silence"],
    async run(probe) {
      const process = await probe.process();
      const worker = await process.work();
      await probe.passes(process);
      const running = gate();
      probe.behavior = () => running.passed;
      await probe.accept(process);
      await probe.ran(2);
      await process.silence();
      running.open();
      await probe.settled("the worker has stopped", (async () => worker.stop())());
    },
  },
  {
    title: "after a failover that keeps connections, a process stores and runs jobs again",
    needs: ["demote"],
    async run(probe) {
      const process = await probe.worker();
      await probe.passes(process);
      await probe.demote();
      await recovers(probe, process);
    },
  },
  {
    title: "a full storage refuses jobs, and the jobs that it has accepted run",
    needs: ["fill"],
    async run(probe) {
      const process = await probe.process();
      await probe.fill();
      const text = "x".repeat(Math.min(largestBytes, probe.maxBodyBytes / 2));
      let accepted = 0;
      let code = "enqueued";
      for (let count = 1; code === "enqueued" && count <= tooMany; count += 1) {
        const body = JSON.stringify({ type: "email.sent", count, text });
        ({ code } = await probe.receive(process, await signedDelivery(body)));
        if (code === "enqueued") accepted += 1;
      }
      equal(
        code,
        "queue_unavailable",
        `With the storage full, a delivery ended as ${code} instead of queue_unavailable.`,
      );
      ok(accepted > 0, "The storage refused the first job.");
      await process.work();
      await probe.ran(accepted);
      await recovers(probe, process);
    },
  },
];
