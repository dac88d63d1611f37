import { deepEqual } from "node:assert/strict";
import { RetryError } from "@svc-webhooks/core";
import { gate, type InboxCase } from "../probe.js";

/** Cases about several deliveries of one event. */
export const copies: readonly InboxCase[] = [
  {
    title: "two copies, one after the other, are one job",
    needs: ["admin", "deduplicates"],
    async run(probe) {
      const [first, second] = [await probe.process(), await probe.process()];
      const delivery = await probe.accept(first);
      await probe.accept(second, delivery);
      await probe.counts(first, { ready: 1 });
    },
  },
  {
    title: "copies that two processes accept simultaneously are one job",
    needs: ["admin", "deduplicates"],
    async run(probe) {
      const [first, second] = [await probe.process(), await probe.process()];
      const delivery = await probe.delivery();
      await Promise.all(
        [first, second, first, second].map((process) => probe.accept(process, delivery)),
      );
      await probe.counts(first, { ready: 1 });
    },
  },
  {
    title: "an event runs once, however many copies arrive before, during and after its run",
    async run(probe) {
      const process = await probe.process();
      const running = gate();
      probe.behavior = () => running.passed;
      const delivery = await probe.accept(process);
      await probe.accept(process, delivery);
      await process.work();
      await probe.ran(1);
      await probe.accept(process, delivery);
      running.open();
      await probe.until("the run has ended", () => probe.runs[0]?.endedAt !== undefined);
      await probe.accept(process, delivery);
      await probe.passes(process);
      probe.ranAs(delivery, [1]);
      deepEqual(await probe.deadLetters(), []);
    },
  },
  {
    title: "a copy during a run does not add attempts",
    settings: { attempts: 2 },
    needs: ["admin", "deduplicates"],
    async run(probe) {
      const process = await probe.worker();
      const delivery = await probe.delivery();
      probe.behavior = async ({ count }) => {
        if (count <= 4) await process.receiver.receive(delivery);
        throw new Error("The handler failed.");
      };
      await probe.accept(process, delivery);
      await probe.counts(process, { dead: 1 });
      probe.ranAs(delivery, [1, 2]);
    },
  },
  {
    title: "a copy of a job that waits for its next attempt changes nothing",
    settings: { attempts: 2 },
    needs: ["deduplicates"],
    async run(probe) {
      const process = await probe.worker();
      const retryAfterMs = 3_000;
      probe.behavior = () => {
        throw new RetryError({ retryAfterMs });
      };
      const delivery = await probe.accept(process);
      await probe.until("the first run has ended", () => probe.runs[0]?.endedAt !== undefined);
      await probe.accept(process, delivery);
      await probe.ran(2);
      probe.pausedFor(retryAfterMs, "The copy made the job run");
      await probe.died(1);
      probe.ranAs(delivery, [1, 2]);
    },
  },
  {
    title: "a copy of a dead letter makes it run again, with a full count of attempts",
    settings: { attempts: 2 },
    async run(probe) {
      const process = await probe.worker();
      probe.behavior = ({ count }) => {
        if (count <= 3) throw new Error("The handler failed.");
      };
      const delivery = await probe.accept(process);
      await probe.died(1);
      await probe.accept(process, delivery);
      await probe.ran(4);
      await probe.passes(process);
      probe.ranAs(delivery, [1, 2, 1, 2]);
    },
  },
  {
    title: "a copy of a dead letter leaves no dead letter behind",
    settings: { attempts: 1 },
    needs: ["deduplicates"],
    async run(probe) {
      const process = await probe.worker();
      probe.behavior = ({ count }) => {
        if (count === 1) throw new Error("The handler failed.");
      };
      const delivery = await probe.accept(process);
      await probe.died(1);
      await probe.accept(process, delivery);
      await probe.ran(2);
      await probe.died(0);
    },
  },
];
