import { deepEqual, equal, match } from "node:assert/strict";
import { PermanentError, RetryError } from "@svc-webhooks/core";
import { gate, type InboxCase } from "../probe.js";

/** Cases about the results of runs. */
export const attempts: readonly InboxCase[] = [
  {
    title: "a job is done after one run, and nothing of it is left",
    needs: ["admin"],
    async run(probe) {
      const process = await probe.worker();
      const delivery = await probe.accept(process);
      await probe.ran(1);
      await probe.passes(process);
      await probe.counts(process, {});
      probe.ranAs(delivery, [1]);
    },
  },
  {
    title: "a failed run is retried, and the last attempt may succeed",
    async run(probe) {
      const process = await probe.worker();
      probe.behavior = ({ count }) => {
        if (count < 3) throw new Error("The handler failed.");
      };
      const delivery = await probe.accept(process);
      await probe.ran(3);
      await probe.passes(process);
      probe.ranAs(delivery, [1, 2, 3]);
      deepEqual(await probe.deadLetters(), []);
    },
  },
  {
    title: "a job whose attempts have all failed is a dead letter with the last error",
    async run(probe) {
      const process = await probe.worker();
      probe.behavior = ({ count }) => {
        throw new Error(`Failure ${count}.`);
      };
      const delivery = await probe.accept(process);
      match(await probe.errorOf(delivery), /Failure 3\./);
      await probe.passes(process);
      probe.ranAs(delivery, [1, 2, 3]);
    },
  },
  {
    title: "a RetryError is retried after the delay that it states, and counts as an attempt",
    settings: { attempts: 2 },
    async run(probe) {
      const process = await probe.worker();
      const retryAfterMs = 4_000;
      probe.behavior = () => {
        throw new RetryError({ retryAfterMs });
      };
      const delivery = await probe.accept(process);
      await probe.died(1);
      probe.ranAs(delivery, [1, 2]);
      probe.pausedFor(retryAfterMs, "The job was retried");
    },
  },
  {
    title:
      "a PermanentError makes a dead letter with its error after one run, and other jobs continue",
    async run(probe) {
      const process = await probe.worker();
      probe.behavior = () => {
        throw new PermanentError("There is no such customer.");
      };
      const delivery = await probe.accept(process);
      match(await probe.errorOf(delivery), /There is no such customer\./);
      await probe.passes(process);
      probe.ranAs(delivery, [1]);
    },
  },
  {
    title: "an error that cannot be read makes a dead letter like any other",
    settings: { attempts: 1 },
    async run(probe) {
      const process = await probe.worker();
      probe.behavior = () => {
        // oxlint-disable-next-line typescript/only-throw-error -- handlers may throw anything
        throw {
          get message(): string {
            throw new Error("This getter throws.");
          },
        };
      };
      const delivery = await probe.accept(process);
      await probe.errorOf(delivery);
      await probe.passes(process);
      probe.ranAs(delivery, [1]);
    },
  },
  {
    title: "a run that waits for another run's lease spends no attempt",
    settings: { attempts: 1 },
    async run(probe) {
      const holder = await probe.process();
      const running = gate();
      probe.behavior = async ({ process }) => {
        if (process !== holder) return;
        await running.passed;
        throw new Error("The first run failed.");
      };
      const delivery = await probe.accept(holder);
      const { headers } = await probe.jobOf(delivery);
      const held = holder.receiver.resume({ ...delivery, headers });
      await probe.ran(1);
      const worker = await probe.worker();
      await probe.until("the worker has found the lease", () => worker.busyClaims > 0);
      running.open();
      await probe.settled("the first run has ended", held);
      await probe.ran(2);
      await probe.passes(worker);
      probe.ranAs(delivery, [1, 2]);
      deepEqual(await probe.deadLetters(), []);
    },
  },
  {
    title: "a run that cannot reach the store spends no attempt",
    settings: { attempts: 1 },
    async run(probe) {
      const process = await probe.process();
      process.failingClaims = 2;
      const delivery = await probe.accept(process);
      await process.work();
      await probe.ran(1);
      equal(process.failingClaims, 0);
      await probe.passes(process);
      probe.ranAs(delivery, [1]);
      deepEqual(await probe.deadLetters(), []);
    },
  },
];
