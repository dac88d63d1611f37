import { equal, match } from "node:assert/strict";
import type { InboxJob } from "@svc-webhooks/core/inbox";
import type { InboxCase } from "../probe.js";

type Tamper = (job: InboxJob) => object;

const unreadable: Readonly<Record<string, Tamper>> = {
  "has no body": (job) => ({ ...job, body: undefined }),
  "has text as headers": (job) => ({ ...job, headers: "none" }),
  "has a header that is not text": (job) => ({ ...job, headers: { ...job.headers, other: 1 } }),
  "is of a later version": (job) => ({ ...job, v: 2 }),
  "is another application's": () => ({ hello: "world" }),
};

const foreign: Readonly<Record<string, Tamper>> = {
  "has another key": (job) => ({ ...job, key: "0".repeat(32) }),
  "has another delivery's headers": (job) => ({
    ...job,
    headers: Object.fromEntries(
      Object.entries(job.headers).map(([name, value]) => [
        name,
        value === job.deliveryId ? "dlv_other" : value,
      ]),
    ),
  }),
};

/** Returns a case that injects changed jobs and checks that each becomes a dead letter with this cause. */
const dies = (
  title: string,
  tampers: Readonly<Record<string, Tamper>>,
  cause: RegExp,
): InboxCase => ({
  title,
  async run(probe) {
    const process = await probe.worker();
    let count = 0;
    for (const [what, tamper] of Object.entries(tampers)) {
      const delivery = await probe.delivery();
      await probe.inject(tamper(await probe.jobOf(delivery)));
      count += 1;
      const letters = await probe.died(count);
      for (const { error } of letters) match(error ?? "", cause, `A job that ${what}`);
    }
    equal(probe.runs.length, 0, "The handler ran for a job that was changed.");
    await probe.passes(process);
  },
});

/** Cases about jobs that were changed, or that do not belong to the worker's receiver. */
export const hostile: readonly InboxCase[] = [
  dies(
    "a job that cannot be read is a dead letter with its cause, and the worker continues",
    unreadable,
    /not the unchanged data of an inbox job/,
  ),
  dies(
    "a job whose key does not fit its headers and body is a dead letter with its cause",
    foreign,
    /another name or dedupeBy/,
  ),
  {
    title: "a job is a dead letter with its cause if the worker's receiver has another name",
    async run(probe) {
      const delivery = await probe.accept(await probe.process());
      await probe.worker({ name: "other" });
      const [letter] = await probe.died(1);
      match(letter?.error ?? "", /another name or dedupeBy/);
      probe.ranAs(delivery, []);
    },
  },
];
