import { fakeClock } from "@svc-webhooks/testing";
import { describe, expect, type TestContext } from "vitest";
import { gate } from "@svc-webhooks/kit/gate";
import { ownTime } from "@svc-webhooks/kit/own-time";
import { describeWithRedis } from "@svc-webhooks/kit/redis-server";
import { until } from "@svc-webhooks/kit/until";
import {
  codesOf,
  expectOutcomesBy,
  idsOf,
  oneRun,
  outcomesOf,
  rig,
  test,
  type Received,
  type Rig,
} from "./rig.js";
import { clientKinds, type ClientKind } from "@svc-webhooks/kit/redis-clients";

const deadlineMs = 100;
const batch = idsOf(40);

/** The batch, split into quarters so that one pause of this machine does not affect all measured times. */
const quarters = [0, 10, 20, 30].map((start) => batch.slice(start, start + 10));

/**
 * Breaks the network during the first runs, then lets their handlers finish or fail. Times are measured from that
 * moment.
 */
async function brokenDuringRuns(
  context: TestContext,
  kind: ClientKind,
  end: "finish" | "fail",
): Promise<Rig & { readonly outcomes: readonly Received[] }> {
  const waves = quarters.map((ids) => ({ ids, handlers: gate() }));
  const all = await rig(context, {
    kind,
    storeTimeouts: { complete: deadlineMs, release: deadlineMs },
    during: (id, run) =>
      run === 1 ? waves.find(({ ids }) => ids.includes(id))?.handlers.opened : undefined,
  });
  const delivering = waves.map(({ ids }) => all.deliverAll(ids));
  await all.started(batch.length);
  await all.proxy.set("black hole");
  const outcomes: Received[] = [];
  for (const [index, { handlers }] of waves.entries()) {
    const endedAt = ownTime();
    if (end === "finish") handlers.open();
    else handlers.fail(new Error("no"));
    const wave = await delivering[index];
    for (const outcome of wave ?? []) outcomes.push({ ...outcome, ms: outcome.at - endedAt });
  }
  return { ...all, outcomes };
}

describeWithRedis("between a receiver and its Redis", () => {
  // The suites run one after another, because this many deliveries would delay those of other tests.
  describe.each(clientKinds)("with $name", (kind) => {
    test("no server listens: every delivery is rejected immediately, nothing queues, and the client recovers", async (context) => {
      const all = await rig(context, { kind, ...oneRun });
      const { client, deliver, deliverAll, heal, insistAll, proxy, runs } = all;
      expect(await deliver("first")).toMatchObject({ code: "processed" });
      const callsBefore = client.calls();

      await proxy.set("refuse");
      await all.disconnected();
      const outage = idsOf(1_000);
      const outcomes: Received[] = [];
      for (const id of outage.slice(0, 40)) outcomes.push(await deliver(id));
      expectOutcomesBy(0, outcomes);
      outcomes.push(...(await deliverAll(outage.slice(40))));
      expect(outcomesOf(outcomes)).toEqual(["store_unavailable 503"]);
      expect(client.pending()).toBe(0);
      expect(client.calls()).toBe(callsBefore);

      await heal();
      await insistAll(outage);
      expect(runs.toSorted()).toEqual(["first", ...outage].map((id) => `${id} 1`).toSorted());
      all.expectNothingLost(outage);
      expect(await deliver("first")).toMatchObject({ code: "duplicate" });
    });
  });

  describe("outcomes by the deadline:", () => {
    describe.concurrent.each(clientKinds)("with $name", (kind) => {
      test.for(["black hole", "hold", "hold replies"] as const)(
        "a %s at claim: 503 by the deadline, and no run is counted",
        async (fault, context) => {
          const all = await rig(context, { kind, storeTimeouts: { claim: deadlineMs }, ...oneRun });
          const { client, deliverAll, insist, insistAll, proxy, runs } = all;
          await insist("first");
          await proxy.set(fault);
          const outcomes: Received[] = [];
          for (const ids of quarters) outcomes.push(...(await deliverAll(ids)));
          expect(outcomesOf(outcomes)).toEqual(["store_unavailable 503"]);
          expectOutcomesBy(deadlineMs, outcomes);
          expect(runs).toEqual(["first 1"]);

          await proxy.set("none");
          await insistAll(batch);
          expect(runs.toSorted()).toEqual(["first", ...batch].map((id) => `${id} 1`).toSorted());
          all.expectNothingLost(batch);
          await until(() => client.pending() === 0, "no call is pending");
        },
      );
    });

    describe.concurrent.each(clientKinds)("with $name", (kind) => {
      test("a black hole at complete: 200 by the deadline with a warning, recorded when the store is back", async (context) => {
        const all = await brokenDuringRuns(context, kind, "finish");
        expect(outcomesOf(all.outcomes)).toEqual(["processed 200 complete_failed"]);
        expectOutcomesBy(deadlineMs, all.outcomes);
        expect(await all.states()).toEqual({ r: batch.length });

        await all.proxy.set("none");
        await all.recorded("d", batch.length);
        expect(codesOf(await all.deliverAll(batch))).toEqual({ duplicate: batch.length });
        expect(all.applied).toHaveLength(batch.length);
        expect(all.internalErrors).toHaveLength(batch.length);
        all.expectNothingLost(batch);
      });

      test("a black hole at release: 500 by the deadline, released when the store is back, then run again", async (context) => {
        const all = await brokenDuringRuns(context, kind, "fail");
        expect(outcomesOf(all.outcomes)).toEqual(["handler_failed 500"]);
        expectOutcomesBy(deadlineMs, all.outcomes);
        expect(all.applied).toEqual([]);

        await all.proxy.set("none");
        await all.recorded("f", batch.length);
        expect(codesOf(await all.deliverAll(batch))).toEqual({ processed: batch.length });
        expect(all.runs.filter((run) => run.endsWith(" 2"))).toHaveLength(batch.length);
        all.expectNothingLost(batch);
      });

      test("a black hole at extend: 503 at the handler's timeout, the lost lease is reported, and the run completes", async (context) => {
        const handlers = gate();
        const clock = fakeClock();
        const leaseMs = 10_000;
        const handlerTimeoutMs = 5_000;
        const all = await rig(context, {
          kind,
          clock,
          leaseMs,
          handlerTimeoutMs,
          storeTimeouts: { extend: 2_000, claim: 10_000, complete: 10_000 },
          during: () => handlers.opened,
        });
        const delivering = all.deliverAll(batch);
        await all.started(batch.length);
        await all.proxy.set("black hole");
        // After this, the clock stands still until all have responded.
        await clock.advance(handlerTimeoutMs);
        expect(outcomesOf(await delivering)).toEqual(["handler_timeout 503"]);
        await clock.advance(leaseMs);
        // Later extensions fail too, because the client has left the connection.
        expect(String(all.internalErrors[0])).toBe("Error: store.extend took longer than 2000 ms");
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
