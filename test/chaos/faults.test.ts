import { describe, expect } from "vitest";
import { gate } from "../support/gate.js";
import { describeWithRedis } from "../support/redis-server.js";
import {
  codesOf,
  expectAnsweredBy,
  hastyClock,
  idsOf,
  outcomesOf,
  test,
  until,
  type Answered,
  type Bench,
  type BenchOptions,
} from "./faults-bench.js";
import { clientKinds, type ClientKind } from "./faults-clients.js";

const deadlineMs = 100;
const batch = idsOf(40);

/** So that one pause of this machine is not in all times that are measured. */
const quarters = [0, 10, 20, 30].map((start) => batch.slice(start, start + 10));

/** The network breaks while first runs are under way, then they end: how their deliveries are answered from there. */
async function brokenUnderWay(
  bench: (options: BenchOptions) => Promise<Bench>,
  kind: ClientKind,
  end: "finish" | "fail",
): Promise<Bench & { readonly answers: readonly Answered[] }> {
  const waves = quarters.map((ids) => ({ ids, handlers: gate() }));
  const all = await bench({
    kind,
    storeTimeouts: { complete: deadlineMs, release: deadlineMs },
    during: (id, run) =>
      run === 1 ? waves.find(({ ids }) => ids.includes(id))?.handlers.opened : undefined,
  });
  const answering = waves.map(({ ids }) => all.deliverAll(ids));
  await until(() => all.runs.length === batch.length, "all handlers have started");
  await all.proxy.set("black hole");
  const answers: Answered[] = [];
  for (const [index, { handlers }] of waves.entries()) {
    const endedAt = performance.now();
    if (end === "finish") handlers.open();
    else handlers.fail(new Error("no"));
    const wave = await answering[index];
    for (const answer of wave ?? []) answers.push({ ...answer, ms: answer.at - endedAt });
  }
  return { ...all, answers };
}

describeWithRedis("between a receiver and its Redis", () => {
  // Not beside others: so many deliveries at once hold up theirs.
  describe.each(clientKinds)("with $name", (kind) => {
    test("nobody listens: every delivery is refused at once, nothing queues, and the same client recovers", async ({
      bench,
    }) => {
      const all = await bench({ kind, maxRuns: 1, onParked: () => {} });
      const { client, deliver, deliverAll, heal, insistAll, proxy, runs } = all;
      expect(await deliver("first")).toMatchObject({ code: "processed" });
      const callsBefore = client.calls();

      await proxy.set("refuse");
      await until(() => !client.isReady(), "the client has noticed");
      const outage = idsOf(1_000);
      const answers: Answered[] = [];
      for (const id of outage.slice(0, 40)) answers.push(await deliver(id));
      expectAnsweredBy(0, answers);
      answers.push(...(await deliverAll(outage.slice(40))));
      expect(outcomesOf(answers)).toEqual(["store_unavailable 503"]);
      expect(client.waiting()).toBe(0);
      expect(client.calls()).toBe(callsBefore);

      await heal();
      await insistAll(outage);
      expect(runs.toSorted()).toEqual(["first", ...outage].map((id) => `${id} 1`).toSorted());
      all.expectNothingLost(outage);
      expect(await deliver("first")).toMatchObject({ code: "duplicate" });
    });
  });

  describe("answers by the deadline:", () => {
    describe.concurrent.each(clientKinds)("with $name", (kind) => {
      test.for(["black hole", "hold", "hold replies"] as const)(
        "a %s at claim: 503 by the deadline, and no run is counted that never was",
        async (fault, { bench }) => {
          const all = await bench({
            kind,
            storeTimeouts: { claim: deadlineMs },
            maxRuns: 1,
            onParked: () => {},
          });
          const { client, deliverAll, insist, insistAll, proxy, runs } = all;
          await insist("first");
          await proxy.set(fault);
          const answers: Answered[] = [];
          for (const ids of quarters) answers.push(...(await deliverAll(ids)));
          expect(outcomesOf(answers)).toEqual(["store_unavailable 503"]);
          expectAnsweredBy(deadlineMs, answers);
          expect(runs).toEqual(["first 1"]);

          await proxy.set("none");
          await insistAll(batch);
          expect(runs.toSorted()).toEqual(["first", ...batch].map((id) => `${id} 1`).toSorted());
          all.expectNothingLost(batch);
          await until(() => client.waiting() === 0, "nothing waits any more");
        },
      );
    });

    describe.concurrent.each(clientKinds)("with $name", (kind) => {
      test("a black hole at complete: 200 by the deadline with a warning, told to the store when it is back", async ({
        bench,
      }) => {
        const all = await brokenUnderWay(bench, kind, "finish");
        expect(outcomesOf(all.answers)).toEqual(["processed 200 complete_failed"]);
        expectAnsweredBy(deadlineMs, all.answers);
        expect(await all.states()).toEqual({ r: batch.length });

        await all.proxy.set("none");
        await until(async () => (await all.states())["d"] === batch.length, "all are done");
        expect(codesOf(await all.deliverAll(batch))).toEqual({ duplicate: batch.length });
        expect(all.applied).toHaveLength(batch.length);
        expect(all.internalErrors).toHaveLength(batch.length);
        all.expectNothingLost(batch);
      });

      test("a black hole at release: 500 by the deadline, released when the store is back, then run again", async ({
        bench,
      }) => {
        const all = await brokenUnderWay(bench, kind, "fail");
        expect(outcomesOf(all.answers)).toEqual(["handler_failed 500"]);
        expectAnsweredBy(deadlineMs, all.answers);
        expect(all.applied).toEqual([]);

        await all.proxy.set("none");
        await until(async () => (await all.states())["f"] === batch.length, "all are released");
        expect(codesOf(await all.deliverAll(batch))).toEqual({ processed: batch.length });
        expect(all.runs.filter((run) => run.endsWith(" 2"))).toHaveLength(batch.length);
        all.expectNothingLost(batch);
      });

      test("a black hole at extend: 503 when the handler's time is up, the lost lease is told, and the run completes", async ({
        bench,
      }) => {
        const handlers = gate();
        const leaseMs = 10_000;
        const handlerTimeoutMs = 5_000;
        const all = await bench({
          kind,
          clock: hastyClock,
          leaseMs,
          handlerTimeoutMs,
          storeTimeouts: { extend: 2_000, claim: 10_000, complete: 10_000 },
          during: () => handlers.opened,
        });
        const answering = all.deliverAll(batch);
        await until(() => all.runs.length === batch.length, "all handlers have started");
        const startedAt = performance.now();
        const leaseEndsAt = hastyClock.monotonic() + leaseMs;
        await all.proxy.set("black hole");
        const answers = (await answering).map((answer) => ({
          ...answer,
          ms: answer.at - startedAt,
        }));
        expect(outcomesOf(answers)).toEqual(["handler_timeout 503"]);
        expectAnsweredBy(handlerTimeoutMs / hastyClock.haste, answers);

        await until(() => hastyClock.monotonic() > leaseEndsAt, "the lease has ended");
        expect([...new Set(all.internalErrors.map(String))]).toEqual([
          "Error: store.extend took longer than 2000 ms",
        ]);
        await all.heal();
        handlers.open();
        expect(await all.receiver.drain({ deadlineMs: 200_000 })).toBe(0);
        const settled = all.reports.filter(({ phase }) => phase === "settled");
        expect(settled).toHaveLength(batch.length);
        for (const report of settled) {
          expect(report).toMatchObject({ code: "processed", warnings: ["lease_lost"] });
        }
        expect(codesOf(await all.deliverAll(batch))).toEqual({ duplicate: batch.length });
        expect(all.applied).toHaveLength(batch.length);
      });
    });
  });
});
