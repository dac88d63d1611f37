import { fakeClock } from "@svc-webhooks/testing";
import { describe, expect, type TestContext } from "vitest";
import { describeWithRedis, redisSentinel, redisServer } from "@svc-webhooks/kit/redis-server";
import { ends } from "@svc-webhooks/kit/sized";
import { until } from "@svc-webhooks/kit/until";
import { codesOf, idsOf, rig, test, unanswered, type RigOptions } from "./rig.js";
import { clientKinds, sentinelKinds } from "@svc-webhooks/kit/redis-clients";

const options = ["--save", "", "--appendonly", "no", "--repl-diskless-sync-delay", "0"];
/** A privileged port on which nothing listens. */
const unusedPort = 1;

describeWithRedis("a planned failover that keeps connections", () => {
  describe.concurrent.each(ends(clientKinds))("with $name", (kind) => {
    test("under load, the client leaves the demoted primary after a 503, and every event is applied once", async (context) => {
      const all = await rig(context, { kind, redis: options });
      const { admin, proxy } = all;
      const source = ["--replicaof", "127.0.0.1", String(all.server.port)];
      const successor = await redisServer([...options, ...source]);
      context.onTestFinished(() => successor.close());
      await until(
        // `master_link_status:up` is reported earlier, when FAILOVER may still reject the replica.
        async () => (await admin.info("replication")).includes("state=online"),
        "the replica is online",
      );

      const sent: string[] = [];
      const over = new AbortController();
      const send = async () => {
        while (!over.signal.aborted) {
          const id = `evt_${sent.length}`;
          sent.push(id);
          await all.insist(id);
        }
      };
      const senders = Array.from({ length: 5 }, send);
      const someMore = async () => {
        const enough = all.applied.length + 50;
        await until(() => all.applied.length > enough, "events are processed");
      };
      await someMore();
      // Simulates an address that moves to the new primary only some time after the demotion.
      proxy.divertTo(unusedPort);
      await admin.call("FAILOVER", "TO", "127.0.0.1", String(successor.port));
      // Uses the server's error count, because the receiver does not report an error that arrives after its call's
      // deadline. During the failover, the primary pauses writes for seconds if the machine is busy.
      await until(
        async () => (await admin.info("errorstats")).includes("errorstat_READONLY"),
        "a write is rejected",
      );
      await until(() => all.codes().includes("store_unavailable"), "a delivery is rejected");
      proxy.divertTo(successor.port);
      await someMore();
      over.abort();
      await Promise.all(senders);

      expect(await admin.role()).toContain("slave");
      await until(() => all.completions.length === sent.length, "all are done");
      all.expectApplied(sent);
      all.expectNothingLost(sent);
    });
  });
});

describeWithRedis("behind Sentinel", () => {
  describe.each(ends(sentinelKinds))("with $name", (kind) => {
    /** Starts a rig whose client connects through a Sentinel and whose `admin` is connected to the primary. */
    async function sentinelRig(context: TestContext, rest: Partial<RigOptions> = {}) {
      const sentinel = await redisSentinel();
      context.onTestFinished(sentinel.close);
      const all = await rig(context, {
        ...rest,
        kind: { ...kind, open: () => kind.open([sentinel.port]) },
        servers: [sentinel.primary],
      });
      return { ...all, sentinel };
    }

    test("the primary is killed: its replica is used, and no event is lost", async (context) => {
      const all = await sentinelRig(context);
      const before = idsOf(20, "before");
      await all.insistAll(before);
      await until(() => all.completions.length === 20, "all are done");
      await all.admin.set("last", "");
      await all.admin.wait(1, 0);
      await all.sentinel.killPrimary();
      const after = idsOf(20, "after");
      await Promise.all(after.map((id) => all.insist(id)));
      all.expectApplied([...before, ...after]);
      expect(codesOf(await all.deliverAll(before))).toEqual({ duplicate: 20 });
      all.expectNothingLost([...before, ...after]);
    });

    test("the connection to the primary silently stops responding: it is left", async (context) => {
      const clock = fakeClock();
      const all = await sentinelRig(context, { clock });
      await all.insist("first");
      all.sentinel.proxy.abandon();
      await unanswered(all, clock, "evt");
      await all.insist("evt");
      all.expectApplied(["first", "evt"]);
    });
  });
});
