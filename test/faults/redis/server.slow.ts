import { Redis } from "ioredis";
import { describe, expect } from "vitest";
import { gate } from "@svc-webhooks/kit/gate";
import { describeWithRedis, redisServer } from "@svc-webhooks/kit/redis-server";
import { until } from "@svc-webhooks/kit/until";
import { codesOf, expectOutcomesBy, idsOf, oneRun, recordsOf, rig, test } from "./rig.js";
import { clientKinds } from "@svc-webhooks/kit/redis-clients";
import { tcpProxy } from "@svc-webhooks/kit/tcp-proxy";

const batch = idsOf(20);
const durable = ["--appendonly", "yes", "--appendfsync", "always"];
const unreplicated = ["--save", "", "--appendonly", "no", "--repl-diskless-sync-delay", "0"];

/** Holds the runs of the events whose id starts with `prefix`. */
const holding = (prefix: string, opened: Promise<void>) => (id: string) =>
  id.startsWith(prefix) ? opened : undefined;

describeWithRedis("a Redis", () => {
  describe.concurrent.each(clientKinds)("behind $name", (kind) => {
    test("is killed and restarts with its append-only file: done and running records are kept", async (context) => {
      const handler = gate();
      const all = await rig(context, {
        kind,
        redis: durable,
        during: holding("running", handler.opened),
      });
      const { deliver, deliverAll } = all;
      expect(codesOf(await deliverAll(batch))).toEqual({ processed: batch.length });
      const running = deliver("running");
      await all.started(batch.length + 1);

      await all.server.kill();
      await all.disconnected();
      const late = idsOf(40, "late");
      const outcomes = await deliverAll(late);
      expect(codesOf(outcomes)).toEqual({ store_unavailable: late.length });
      expectOutcomesBy(0, outcomes);

      await all.restart();
      await all.insistAll(late);
      expect(await deliver("running")).toMatchObject({ code: "in_flight", status: 503 });
      handler.open();
      expect(await running).toMatchObject({ code: "processed", warnings: [] });
      expect(codesOf(await deliverAll([...batch, "running"]))).toEqual({
        duplicate: batch.length + 1,
      });
      expect(new Set(all.completions)).toEqual(new Set(["owner"]));
      all.expectApplied([...batch, ...late, "running"]);
      all.expectNothingLost([...batch, ...late, "running"]);
    });

    test("is killed and restarts empty: done events may run again, and none is lost", async (context) => {
      const handler = gate();
      const all = await rig(context, { kind, during: holding("running", handler.opened) });
      await all.deliverAll(batch);
      const running = all.deliver("running");
      await all.started(batch.length + 1);
      await all.server.kill();
      await all.restart();

      expect(await all.insist("evt_0")).toContain("processed");
      expect(codesOf(await all.deliverAll(batch.slice(1)))).toEqual({ processed: 19 });
      handler.open();
      expect(await running).toMatchObject({ code: "processed", warnings: [] });
      expect(all.completions.at(-1)).toBe("restored");
      expect(codesOf(await all.deliverAll([...batch, "running"]))).toEqual({ duplicate: 21 });
      expect(all.runs.toSorted()).toEqual(
        [...batch, ...batch, "running"].map((id) => `${id} 1`).toSorted(),
      );
      const [before = 0, after = 0] = all.reports.flatMap(({ deliveryId, fence }) =>
        deliveryId === "evt_0" && fence ? fence : [],
      );
      expect(after).toBeGreaterThan(before);
      all.expectNothingLost([...batch, "running"]);
    });

    test("is killed repeatedly under load: with its append-only file, every event is applied once", async (context) => {
      const all = await rig(context, { kind, redis: durable, ...oneRun });
      const events = idsOf(300);
      for (const third of [0, 1, 2]) {
        const sent = all.insistAll(events.slice(third * 100, third * 100 + 100));
        await until(() => all.applied.length > third * 100 + 10, "some are applied");
        await all.server.kill();
        await all.restart();
        await sent;
      }
      all.expectApplied(events);
      await all.recorded("d", events.length);
      all.expectNothingLost(events);
    });

    test("loses its scripts repeatedly: no outcome changes", async (context) => {
      const all = await rig(context, { kind, during: () => all.admin.script("FLUSH") });
      expect(codesOf(await all.deliverAll(batch))).toEqual({ processed: batch.length });
      await all.admin.script("FLUSH");
      expect(codesOf(await all.deliverAll(batch))).toEqual({ duplicate: batch.length });
      expect(new Set(all.completions)).toEqual(new Set(["owner"]));
      expect(all.internalErrors).toEqual([]);
    });

    test("is out of memory: new events are rejected, done ones are duplicates, and processing continues later", async (context) => {
      const handler = gate();
      const all = await rig(context, { kind, during: holding("running", handler.opened) });
      const { admin, deliver, deliverAll } = all;
      await deliver("done");
      const running = deliverAll(["running", "running_and_failing"]);
      await all.started(3);

      await admin.config("SET", "maxmemory", "1");
      const outcomes = await deliverAll(batch);
      expect(codesOf(outcomes)).toEqual({ store_unavailable: batch.length });
      expect(all.lines.at(-1)).toContain("OOM");
      expect(await deliver("done")).toMatchObject({ code: "duplicate" });
      handler.open();
      for (const outcome of await running) {
        expect(outcome).toMatchObject({ code: "processed", warnings: ["complete_failed"] });
      }

      await admin.config("SET", "maxmemory", "0");
      expect(codesOf(await deliverAll(batch))).toEqual({ processed: batch.length });
      await until(async () => (await all.states())["r"] === undefined, "all are done");
      expect(await deliver("running")).toMatchObject({ code: "duplicate" });
      all.expectNothingLost(["done", "running", ...batch]);
    });

    test("is flushed while handlers run: completion restores the records", async (context) => {
      const handlers = gate();
      const all = await rig(context, { kind, during: () => handlers.opened });
      const outcomes = all.deliverAll(batch);
      await all.started(batch.length);
      await all.admin.flushall();
      handlers.open();
      expect(codesOf(await outcomes)).toEqual({ processed: batch.length });
      expect(new Set(all.completions)).toEqual(new Set(["restored"]));
      expect(codesOf(await all.deliverAll(batch))).toEqual({ duplicate: batch.length });
      expect(all.applied).toHaveLength(batch.length);
    });

    test("dies before its replica has all records: replicated events are duplicates, the rest run again", async (context) => {
      const handler = gate();
      const all = await rig(context, {
        kind,
        redis: unreplicated,
        during: holding("running", handler.opened),
      });
      const link = await tcpProxy(all.server.port);
      const source = ["--replicaof", "127.0.0.1", String(link.port)];
      const replica = await redisServer([...unreplicated, ...source]);
      const admin = new Redis(replica.port, "127.0.0.1");
      context.onTestFinished(async () => {
        admin.disconnect();
        await link.close();
        await replica.close();
      });
      const { deliver, proxy } = all;
      await until(
        async () => (await admin.info("replication")).includes("master_link_status:up"),
        "the replica is in step",
      );
      expect(await deliver("replicated")).toMatchObject({ code: "processed" });
      await until(
        async () => (await recordsOf(admin)).join("") === "d",
        "the record is replicated",
      );
      await link.set("black hole");
      expect(await deliver("unreplicated")).toMatchObject({ code: "processed" });
      const running = deliver("running");
      await all.started(3);

      await all.server.kill();
      proxy.forwardTo(replica.port);
      await until(async () => {
        expect(await deliver("new")).toMatchObject({ code: "store_unavailable" });
        return (await admin.info("errorstats")).includes("errorstat_READONLY");
      }, "the client has found the replica");
      await admin.replicaof("NO", "ONE");
      handler.open();
      expect(await running).toMatchObject({ code: "processed" });
      // Completion is retried if the client was about to leave the replica.
      await until(() => all.completions.includes("restored"), "the completion is restored");

      await all.insist("new");
      await all.insist("replicated");
      await all.insist("unreplicated");
      expect(await deliver("running")).toMatchObject({ code: "duplicate" });
      all.expectApplied(["replicated", "new", "running", "unreplicated", "unreplicated"]);
      all.expectNothingLost(["replicated", "unreplicated", "running", "new"]);
    });
  });
});
