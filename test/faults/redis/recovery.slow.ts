import { fakeClock } from "@svc-webhooks/testing";
import { describe, expect } from "vitest";
import { gate } from "@svc-webhooks/kit/gate";
import { describeWithRedis } from "@svc-webhooks/kit/redis-server";
import { until } from "@svc-webhooks/kit/until";
import {
  codesOf,
  defaultDeadlineMs,
  idsOf,
  oneRun,
  outcomesOf,
  rig,
  test,
  ticking,
  type Rig,
} from "./rig.js";
import { clientKinds } from "@svc-webhooks/kit/redis-clients";

const deadlineMs = 120;
const batch = idsOf(40);

describeWithRedis("a receiver recovers when", () => {
  describe.concurrent.each(clientKinds)("with $name", (kind) => {
    test("no server was listening from the start: rejects deliveries immediately, and processes them once one is", async (context) => {
      const { deliver, insist, applied, proxy } = await rig(context, {
        kind,
        faultAtStart: "refuse",
      });
      expect(outcomesOf([await deliver("evt")])).toEqual(["store_unavailable 503"]);
      await proxy.set("none");
      await insist("evt");
      expect(applied).toEqual(["evt"]);
    });

    test("each connection is reset when it opens: rejects deliveries, and processes them after the fault", async (context) => {
      const { deliver, insist, applied, proxy, disconnected, receiver } = await rig(context, {
        kind,
      });
      await proxy.set("reset");
      await disconnected();
      expect(outcomesOf([await deliver("evt")])).toEqual(["store_unavailable 503"]);
      await proxy.set("none");
      await insist("evt");
      expect(applied).toEqual(["evt"]);
      expect(await receiver.drain({ deadlineMs: 10_000 })).toBe(0);
    });

    test("no server is listening and onStoreError is process: runs events without dedupe, and records them later", async (context) => {
      const all = await rig(context, { kind, onStoreError: "process" });
      await all.proxy.set("refuse");
      await all.disconnected();
      const outcomes = await all.deliverAll(batch);
      expect(outcomesOf(outcomes)).toEqual(["processed 200 complete_failed"]);
      expect(new Set(all.reports.map(({ dedupe }) => dedupe))).toEqual(new Set(["unverified"]));

      await all.heal();
      await until(() => all.completions.length === batch.length, "all completions are recorded");
      expect(new Set(all.completions)).toEqual(new Set(["restored"]));
      expect(codesOf(await all.deliverAll(batch))).toEqual({ duplicate: batch.length });
      expect(all.applied).toHaveLength(batch.length);
    });

    test("replies to claims are held: releases the claims, and another receiver runs the events", async (context) => {
      const cutOff = await rig(context, {
        kind,
        storeTimeouts: { claim: deadlineMs },
        during(id, run) {
          if (id === "first" && run === 1) throw new Error("no");
        },
      });
      const other = await rig(context, { kind, servers: [cutOff.server], ...oneRun });
      await cutOff.insist("first");
      await cutOff.proxy.set("hold replies");
      expect(outcomesOf(await cutOff.deliverAll(batch))).toEqual(["store_unavailable 503"]);
      await cutOff.recorded("f", batch.length);
      expect(codesOf(await other.deliverAll(batch))).toEqual({ processed: batch.length });
      expect(cutOff.applied).toEqual(["first"]);
      expect(other.runs.toSorted()).toEqual(batch.map((id) => `${id} 1`).toSorted());
    });

    test("the reply to a claim is lost: runs the event once, as its first run", async (context) => {
      const all = await rig(context, { kind, ...oneRun });
      await all.insist("first");
      const lost = all.proxy.loseReply();
      const codes = await all.insist("evt");
      await lost;
      // If the client resends the claim, its token matches. Otherwise, the first attempt fails and its claim is
      // released.
      if (kind.resends) expect(codes).toEqual(["processed"]);
      else expect([codes[0], codes.at(-1)]).toEqual(["store_unavailable", "processed"]);
      expect(all.runs).toEqual(["first 1", "evt 1"]);
      all.expectNothingLost(["evt"]);
    });

    test("the reply to a claim is lost and the server is unreachable past the deadline: runs the event once, as its first run", async (context) => {
      const clock = fakeClock();
      const all = await rig(context, { kind, clock, ...oneRun });
      await all.insist("first");
      const lost = all.proxy.loseReply("refuse");
      const outcome = all.deliver("evt");
      // If the deadline passed earlier, the release would still reach the server, after its claim.
      await lost;
      await clock.advance(defaultDeadlineMs);
      expect(outcomesOf([await outcome])).toEqual(["store_unavailable 503"]);
      expect(await all.states()).toEqual({ d: 1, r: 1 });
      await all.heal();
      // The longest pause before the release is retried.
      await clock.advance(8_000);
      await all.insist("evt");
      expect(all.runs).toEqual(["first 1", "evt 1"]);
      all.expectNothingLost(["evt"]);
    });
  });

  describe.concurrent.each(clientKinds)("with $name", (kind) => {
    test("an extension is lost: keeps the lease if the next extension arrives", async (context) => {
      const clock = fakeClock();
      const handler = gate();
      const all = await rig(context, { kind, clock, during: () => handler.opened });
      const outcome = all.deliver("evt");
      await all.started(1);

      await all.proxy.set("black hole");
      const sent = all.client.calls();
      await clock.advance(10_000);
      await until(() => all.client.calls() > sent, "the lease is extended");
      await clock.advance(2_000);
      expect(all.internalErrors).toHaveLength(1);
      expect(await outcome).toMatchObject({ code: "handler_timeout" });

      await all.heal();
      const late = kind.resends ? [true] : [];
      await until(() => all.extensions.length === late.length, "resent calls get their replies");
      await clock.advance(8_000);
      await until(() => all.extensions.length > late.length, "the lease is extended");
      expect(all.extensions).toEqual([...late, true]);
      // By the end of this, the original lease would have expired.
      await clock.advance(15_000);
      handler.open();
      const report = await all.reported("processed");
      expect(report).toMatchObject({ phase: "settled", warnings: [], run: 1 });
      expect(await all.deliver("evt")).toMatchObject({ code: "duplicate" });
    });

    test("the reply to complete is lost: returns 200, and copies are duplicates", async (context) => {
      const all: Rig = await rig(context, {
        kind,
        during: (id) => void (id === "evt" && all.proxy.loseReply()),
      });
      await all.insist("first");
      const warning = kind.resends ? "" : " complete_failed";
      expect(outcomesOf([await all.deliver("evt")])).toEqual([`processed 200${warning}`]);
      await until(() => all.completions.length === 2, "the completion is recorded");
      expect(all.completions).toEqual(["owner", "already"]);
      expect(await all.deliver("evt")).toMatchObject({ code: "duplicate" });
      expect(all.applied).toEqual(["first", "evt"]);
    });

    test("the reply to release is lost: returns 500, and the next attempt runs", async (context) => {
      const all: Rig = await rig(context, {
        kind,
        during(id, run) {
          if (run > 1) return;
          if (id === "evt") void all.proxy.loseReply();
          throw new Error("no");
        },
      });
      // Loads the script, so that the lost reply is not the error for an unknown script.
      await all.insist("first");
      expect(outcomesOf([await all.deliver("evt")])).toEqual(["handler_failed 500"]);
      expect(all.internalErrors).toHaveLength(kind.resends ? 0 : 1);
      await all.insist("evt");
      expect(all.runs).toEqual(["first 1", "first 2", "evt 1", "evt 2"]);
      all.expectNothingLost(["evt"]);
    });
  });

  describe.concurrent.each(clientKinds)("with $name", (kind) => {
    test("two receivers are under load during successive faults: applies every event exactly once", async (context) => {
      const timeouts = { claim: deadlineMs, complete: deadlineMs, release: deadlineMs };
      const options = { kind, storeTimeouts: timeouts, ...oneRun };
      const left = await rig(context, options);
      const right = await rig(context, { ...options, servers: [left.server] });
      const sent: string[] = [];
      const over = new AbortController();
      let attempts = 0;
      const send = async () => {
        while (!over.signal.aborted) {
          const id = `evt_${sent.length}`;
          sent.push(id);
          await until(async () => {
            attempts += 1;
            const { deliver } = attempts % 2 === 0 ? left : right;
            return (await deliver(id)).status === 200;
          }, `${id} gets a 2xx`);
        }
      };
      const senders = Array.from({ length: 5 }, send);
      const someAttempts = async () => {
        const enough = attempts + 20;
        await until(() => attempts > enough, "the senders continue");
      };

      const faults = [
        [left, "hold"],
        [right, "black hole"],
        [left, "reset"],
        [right, "hold replies"],
        [left, "drip"],
      ] as const;
      for (const [{ proxy }, fault] of faults) {
        await proxy.set(fault);
        await someAttempts();
        await proxy.set("none");
        await someAttempts();
        await proxy.loseReply();
      }
      over.abort();
      await Promise.all(senders);
      expect([...left.applied, ...right.applied].toSorted()).toEqual(sent.toSorted());
      await left.recorded("d", sent.length);
    });
  });

  // The suites run one after another, because the watch's timers are mocked.
  describe.each(clientKinds)("with $name", (kind) => {
    test("bytes arrive one at a time: behaves as usual, but slowly", async (context) => {
      ticking(context);
      const all = await rig(context, {
        kind,
        clock: fakeClock(),
        during(_id, run) {
          if (run === 1) throw new Error("no");
        },
      });
      await all.proxy.set("drip");
      const events = idsOf(3);
      expect(codesOf(await all.deliverAll(events))).toEqual({ handler_failed: 3 });
      expect(codesOf(await all.deliverAll(events))).toEqual({ processed: 3 });
      expect(codesOf(await all.deliverAll(events))).toEqual({ duplicate: 3 });
      expect(all.internalErrors).toEqual([]);
    });
  });
});
