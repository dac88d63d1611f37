import { deepEqual, equal, fail, ok, rejects } from "node:assert/strict";
import { inspect } from "node:util";
import {
  PermanentError,
  RetryError,
  type ConfigError,
  type StoredDelivery,
} from "@svc-webhooks/core";
import { fixture } from "../../fixture.js";
import { signedDelivery } from "../../signed-delivery.js";
import { gate, type InboxCase, type InboxProbe, type Process } from "../probe.js";

const permanent = () => {
  throw new PermanentError("There is no such customer.");
};

/** Turns deliveries into dead letters, one by one, because their order would be uncertain if several ran at a time. */
async function bury(
  probe: InboxProbe,
  process: Process,
  deliveries: readonly StoredDelivery[],
): Promise<void> {
  const { behavior } = probe;
  probe.behavior = permanent;
  for (const [index, delivery] of deliveries.entries()) {
    await probe.accept(process, delivery);
    await probe.died(index + 1);
  }
  probe.behavior = behavior;
}

const operator = (title: string, run: InboxCase["run"]): InboxCase => ({
  title,
  needs: ["admin"],
  run,
});

const call = { signal: new AbortController().signal };

/** Queries that `list` must refuse, each with the option that the error must name. */
const refusedQueries: readonly (readonly [option: string, query: object])[] = [
  ["state", {}],
  ["state", { state: "failed" }],
  ["status", { state: "dead", status: "dead" }],
  ["type", { state: "dead", type: 5 }],
  ["after", { state: "dead", after: 5 }],
  ...[-1, 1.5, NaN, "1", null].map((limit) => ["limit", { state: "dead", limit }] as const),
];

/** Options that `release` must refuse, each set with the one option that the error must name. */
const refusedReleases: readonly (readonly [option: string, options: object])[] = [
  ["perSecond", {}],
  ...[0, 0.0009, 1_001, NaN, "1"].map((perSecond) => ["perSecond", { perSecond }] as const),
  ...[-1, 1.5, NaN, "1"].map((limit) => ["limit", { perSecond: 1, limit }] as const),
  ...[0, 1.5, NaN, "1"].map((stopAfter) => ["stopAfter", { perSecond: 1, stopAfter }] as const),
  ["type", { perSecond: 1, type: 5 }],
  ["signal", { perSecond: 1, signal: {} }],
  ["rate", { perSecond: 1, rate: 1 }],
];

/** Checks that a promise rejects with a `ConfigError` that names the option. */
const refuses = (promise: Promise<unknown>, option: string, value: object) =>
  rejects(promise, ({ code, option: refused, message }: ConfigError) => {
    const expected = /rate|status/.test(option) ? "unknown_option" : "invalid_option";
    deepEqual([code, refused], [expected, option], `For ${inspect(value)}: ${message}`);
    ok(message.includes(`\`${option}\``), `This text does not name the option: ${message}`);
    return true;
  });

/** Cases about the functions for operators. */
export const admin: readonly InboxCase[] = [
  operator(
    "stats counts the jobs by state, and reports the age of the oldest job",
    async (probe) => {
      const process = await probe.process();
      equal((await process.admin.stats()).oldestMs, undefined);
      const running = gate();
      const behaviors = [
        () => running.passed,
        permanent,
        () => {
          throw new RetryError({ retryAfterMs: 600_000 });
        },
      ];
      const deliveries: StoredDelivery[] = [];
      for (const _ of behaviors) deliveries.push(await probe.accept(process));
      const startedAt = probe.clock.now();
      await probe.until("two seconds have passed", () => probe.clock.now() - startedAt >= 2_000);
      await probe.counts(process, { ready: 3 });
      const { oldestMs = -1 } = await process.admin.stats();
      ok(
        oldestMs >= 1_000 && oldestMs < 60_000,
        `The oldest job should not be ${oldestMs} ms old.`,
      );
      const ids = deliveries.map(({ headers }) => headers["x-svc-delivery-id"]);
      probe.behavior = ({ context }) => behaviors[ids.indexOf(context.deliveryId)]?.();
      await process.work();
      await probe.counts(process, { active: 1, dead: 1, delayed: 1 });
      equal((await process.admin.stats()).oldestMs, undefined);
      running.open();
      await probe.counts(process, { dead: 1, delayed: 1 });
    },
  ),
  operator("list returns the jobs of a state and a type, oldest first, in pages", async (probe) => {
    const process = await probe.process();
    const types = ["email.sent", "email.delivered", "email.sent", "email.sent"] as const;
    const sent: (string | undefined)[] = [];
    for (const [index, type] of types.entries()) {
      const delivery = await signedDelivery(fixture(type, {}, index + 1));
      await probe.accept(process, delivery);
      if (type === "email.sent") sent.push(delivery.headers["x-svc-delivery-id"]);
    }
    const query = { state: "ready", type: "email.sent" } as const;
    const all = await probe.list(process, query);
    deepEqual(
      all.map(({ deliveryId, source }) => [deliveryId, source]),
      sent.map((id) => [id, probe.source]),
    );
    equal((await probe.list(process, { state: "ready" })).length, types.length);
    deepEqual(await probe.list(process, { state: "dead" }), []);
    const page = await probe.list(process, { ...query, limit: 2 });
    const rest = await probe.list(process, { ...query, after: page[1]?.id ?? "" });
    deepEqual(
      [...page, ...rest].map(({ deliveryId }) => deliveryId),
      sent,
    );
    deepEqual([page.length, rest.length], [2, 1]);
  }),
  operator("list does not show changes to a job that has left the state", async (probe) => {
    const process = await probe.worker();
    await bury(probe, process, await probe.deliveries(2));
    const [, second] = await probe.list(process, { state: "dead" });
    const running = gate();
    probe.behavior = () => running.passed;
    const attempts: number[] = [];
    for await (const entry of process.admin.list({ state: "dead" })) {
      attempts.push(entry.attempts);
      if (attempts.length > 1) continue;
      await process.admin.retry(second?.id ?? "");
      await probe.ran(3);
    }
    running.open();
    await probe.counts(process, { dead: 1 });
    // The list may contain the second job as it was before its retry.
    ok(
      attempts.every((count) => count === 1),
      `The list of dead letters counts ${attempts.join(" and ")} attempts. Return a job only if it is still dead.`,
    );
  }),
  operator("list and release refuse wrong options, and name them", async (probe) => {
    const process = await probe.process();
    for (const [option, query] of refusedQueries) {
      await refuses(probe.list(process, query as never), `query.${option}`, query);
    }
    for (const [option, options] of refusedReleases) {
      await refuses(process.admin.release(options as never), option, options);
    }
    const none = { released: 0, failedAgain: 0 };
    for (const perSecond of [0.001, 1_000]) {
      for (const count of [1, Infinity]) {
        const options = { perSecond, limit: count, stopAfter: count, type: "email.sent" };
        deepEqual(await process.admin.release(options), none);
      }
    }
    deepEqual(await process.admin.release({ perSecond: 1, limit: 0 }), none);
    deepEqual(await probe.list(process, { state: "dead", limit: Infinity }), []);
    await probe.accept(process);
    deepEqual(await probe.list(process, { state: "ready", limit: 0 }), []);
  }),
  operator("get returns one job with its facts and its exact bytes", async (probe) => {
    const process = await probe.worker();
    const startedAt = probe.clock.now();
    const delivery = await probe.delivery();
    await bury(probe, process, [delivery]);
    const { id } = await probe.only(process, "dead");
    const entry =
      (await process.admin.get(id)) ?? fail("get() did not find a job that list() returned.");
    const { key, type, deliveryId, receivedAt } = await probe.jobOf(delivery);
    deepEqual(
      [entry.id, entry.key, entry.type, entry.deliveryId, entry.state, entry.attempts],
      [id, key, type, deliveryId, "dead", 1],
    );
    equal(entry.error, "There is no such customer.");
    ok(
      entry.receivedAt >= startedAt && entry.receivedAt <= receivedAt,
      `receivedAt is ${entry.receivedAt}, not the time in epoch milliseconds at which the delivery arrived.`,
    );
    ok(Buffer.from(entry.body()).equals(delivery.body), "The body changed.");
  }),
  operator("an unknown id is not found, and nothing changes", async (probe) => {
    const process = await probe.process();
    const id = crypto.randomUUID();
    equal(await process.admin.get(id), undefined);
    equal(await process.admin.retry(id), false);
    equal(await process.admin.discard(id, "test"), false);
  }),
  operator("retry runs a dead letter again, with a full count of attempts", async (probe) => {
    const process = await probe.worker();
    const delivery = await probe.delivery();
    await bury(probe, process, [delivery]);
    const { id } = await probe.only(process, "dead");
    probe.behavior = ({ count }) => {
      if (count < 4) throw new Error("The handler failed.");
    };
    equal(await process.admin.retry(id), true);
    await probe.ran(4);
    await probe.died(0);
    await probe.passes(process);
    probe.ranAs(delivery, [1, 1, 2, 3]);
  }),
  {
    title: "retry and a redelivery give all attempts again, although the receiver limits its runs",
    settings: { attempts: 2 },
    needs: ["admin"],
    async run(probe) {
      const process = await probe.worker({ maxRuns: 2 });
      probe.behavior = () => {
        throw new Error("The handler failed.");
      };
      const delivery = await probe.accept(process);
      await probe.died(1);
      const { id } = await probe.only(process, "dead");
      equal(await process.admin.retry(id), true);
      await probe.ran(4);
      await probe.died(1);
      await probe.accept(process, delivery);
      await probe.ran(6);
      await probe.died(1);
      probe.ranAs(delivery, [1, 2, 1, 2, 1, 2]);
    },
  },
  {
    title: "a run that is frozen in its last attempt no longer owns its event once the job is dead",
    settings: { attempts: 1 },
    needs: ["admin", "kill"],
    async run(probe) {
      const frozen = await probe.worker();
      const waking = gate();
      probe.behavior = ({ process }) => (process === frozen ? waking.passed : undefined);
      const delivery = await probe.accept(frozen);
      await probe.ran(1);
      // From now on, the process neither extends its lease nor reaches the queue.
      frozen.freeze();
      await frozen.connection.kill?.();
      await probe.worker();
      // A second run is right too, because some queues do not count a killed run as an attempt.
      const isDead = async () => (await probe.deadLetters()).length === 1;
      await probe.until(
        "the job is dead or runs again",
        async () => probe.runs.length > 1 || (await isDead()),
      );
      if (probe.runs.length === 1) {
        const { key } = await probe.jobOf(delivery);
        deepEqual(await probe.store.peek?.([key], call), ["parked"]);
      }
      waking.open();
      await probe.until(
        "the signal of the frozen run is aborted",
        () => probe.runs[0]?.context.signal.aborted === true,
      );
    },
  },
  operator("retry immediately runs a job that waits for its next attempt", async (probe) => {
    const process = await probe.worker();
    probe.behavior = ({ count }) => {
      if (count === 1) throw new RetryError({ retryAfterMs: 3_600_000 });
    };
    const delivery = await probe.accept(process);
    await probe.counts(process, { delayed: 1 });
    const { id } = await probe.only(process, "delayed");
    equal(await process.admin.retry(id), true);
    await probe.ran(2);
    await probe.counts(process, {});
    probe.ranAs(delivery, [1, 2]);
  }),
  operator(
    "a RetryError with a time instead of a pause delays its job by at most a day",
    async (probe) => {
      const process = await probe.worker();
      probe.behavior = ({ count }) => {
        if (count === 1) throw new RetryError({ retryAfterMs: Date.UTC(2026, 0) });
      };
      const delivery = await probe.accept(process);
      await probe.counts(process, { delayed: 1 });
      // If the queue uses real time, the case cannot wait a day, so it retries the job as an operator would.
      if (!(await probe.passDay())) {
        const { id } = await probe.only(process, "delayed");
        equal(await process.admin.retry(id), true);
      }
      await probe.ran(2);
      probe.ranAs(delivery, [1, 2]);
    },
  ),
  operator("retry and discard change no job that is ready or active", async (probe) => {
    const process = await probe.process();
    await probe.accept(process);
    const { id } = await probe.only(process, "ready");
    equal(await process.admin.retry(id), false);
    equal(await process.admin.discard(id, "test"), false);
    const running = gate();
    probe.behavior = () => running.passed;
    await process.work();
    await probe.counts(process, { active: 1 });
    equal(await process.admin.retry(id), false);
    equal(await process.admin.discard(id, "test"), false);
    running.open();
    await probe.counts(process, {});
    equal(probe.runs.length, 1);
  }),
  operator("discard removes a dead letter", async (probe) => {
    const process = await probe.worker();
    await bury(probe, process, await probe.deliveries(2));
    const [first, second] = await probe.list(process, { state: "dead" });
    equal(await process.admin.discard(first?.id ?? "", "test"), true);
    equal(await process.admin.discard(first?.id ?? "", "test"), false);
    equal(await process.admin.retry(first?.id ?? ""), false);
    equal(await process.admin.get(first?.id ?? ""), undefined);
    equal((await probe.only(process, "dead")).id, second?.id);
  }),
  operator(
    "release runs dead letters again at its rate, oldest first, up to its limit",
    async (probe) => {
      const process = await probe.worker();
      const deliveries = await probe.deliveries(4);
      await bury(probe, process, deliveries);
      const before = probe.runs.length;
      const startedAt = probe.clock.now();
      const released = await probe.settled(
        "release has ended",
        process.admin.release({ perSecond: 2, limit: 3 }),
      );
      const tookMs = probe.clock.now() - startedAt;
      equal(released.released, 3);
      ok(tookMs >= 900, `Three jobs at two per second took ${tookMs} ms instead of 1,000 ms.`);
      await probe.ran(before + 3);
      await probe.died(1);
      const ids = deliveries.map(({ headers }) => headers["x-svc-delivery-id"]);
      equal((await probe.only(process, "dead")).deliveryId, ids[3]);
    },
  ),
  operator("release selects by type", async (probe) => {
    const process = await probe.worker();
    const delivered = await signedDelivery(fixture("email.delivered"));
    await bury(probe, process, [await probe.delivery(), delivered]);
    const release = process.admin.release({ perSecond: 10, type: "email.delivered" });
    const { released } = await probe.settled("release has ended", release);
    equal(released, 1);
    await probe.ran(3);
    await probe.died(1);
    equal((await probe.only(process, "dead")).type, "email.sent");
    probe.ranAs(delivered, [1, 1]);
  }),
  operator("release stops when too many of its jobs fail again", async (probe) => {
    const process = await probe.worker();
    probe.behavior = permanent;
    await bury(probe, process, await probe.deliveries(10));
    const { released, failedAgain } = await probe.settled(
      "release has ended",
      process.admin.release({ perSecond: 2, stopAfter: 1 }),
    );
    ok(released < 10, "All jobs were released although the first failed again.");
    ok(failedAgain >= 1);
    await probe.died(10);
  }),
  operator("release stops when its signal is aborted", async (probe) => {
    const process = await probe.worker();
    await bury(probe, process, await probe.deliveries(3));
    const stopping = new AbortController();
    const { signal } = stopping;
    const before = probe.runs.length;
    const release = process.admin.release({ perSecond: 0.1, signal });
    // Prevents an unhandled rejection: the promise may reject before it is awaited below.
    release.catch(() => {});
    await probe.ran(before + 1);
    stopping.abort();
    deepEqual(await probe.settled("release has ended", release), { released: 1, failedAgain: 0 });
    await probe.died(2);
  }),
];
