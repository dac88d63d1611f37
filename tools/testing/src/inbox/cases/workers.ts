import { deepEqual, equal, ok } from "node:assert/strict";
import { gate, type InboxCase } from "../probe.js";

/** Cases about workers that end. */
export const workers: readonly InboxCase[] = [
  {
    title: "the job of a killed worker runs again",
    needs: ["kill"],
    async run(probe) {
      const killed = await probe.worker();
      probe.behavior = ({ process }) =>
        process === killed ? new Promise<never>(() => {}) : undefined;
      const delivery = await probe.accept(killed);
      await probe.ran(1);
      await killed.kill();
      const heir = await probe.worker();
      await probe.ran(2);
      await probe.passes(heir);
      probe.ranAs(delivery, [1, 2]);
      ok(
        probe.runs.slice(1).every(({ process }) => process === heir),
        "The killed worker ran another job.",
      );
    },
  },
  {
    title: "a job whose worker was killed after its run is settled without another run",
    needs: ["admin", "kill"],
    async run(probe) {
      const killed = await probe.worker();
      // Cuts only the connection to the queue. The process still reaches the store, so the record becomes done.
      probe.behavior = () => killed.connection.kill?.();
      const delivery = await probe.accept(killed);
      await probe.until("the run has ended", () => probe.runs[0]?.endedAt !== undefined);
      probe.behavior = () => {};
      const heir = await probe.worker();
      await probe.counts(heir, {});
      probe.ranAs(delivery, [1]);
    },
  },
  {
    title: "a stopped worker spends no attempt on a run that ends in time, and loses no job",
    settings: { attempts: 1 },
    async run(probe) {
      const stopped = await probe.process();
      const worker = await stopped.work();
      const running = gate();
      probe.behavior = () => running.passed;
      const delivery = await probe.accept(stopped);
      await probe.ran(1);
      const stopping = (async () => worker.stop())();
      running.open();
      await probe.settled("the worker has stopped", stopping);
      const next = await probe.worker();
      await probe.passes(next);
      equal(probe.runsOf(delivery).length, 1);
      deepEqual(await probe.deadLetters(), []);
    },
  },
  {
    title: "a stopped worker starts no more jobs",
    async run(probe) {
      const stopped = await probe.process();
      const worker = await stopped.work();
      await probe.passes(stopped);
      await probe.settled("the worker has stopped", (async () => worker.stop())());
      const before = probe.runs.length;
      const deliveries = [];
      for (let n = 0; n < 8; n += 1) deliveries.push(await probe.accept(stopped));
      const next = await probe.worker();
      await probe.ran(before + deliveries.length);
      for (const delivery of deliveries) {
        const processes = probe.runsOf(delivery).map(({ process }) => process);
        ok(
          processes.every((process) => process === next),
          "The stopped worker ran a job.",
        );
        equal(processes.length, 1);
      }
    },
  },
];
