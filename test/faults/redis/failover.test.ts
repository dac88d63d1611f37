import { describe, expect } from "vitest";
import { describeWithRedis, redisServer } from "@svc-webhooks/kit/redis-server";
import { until } from "@svc-webhooks/kit/until";
import { rig, test } from "./rig.js";
import { clientKinds } from "@svc-webhooks/kit/redis-clients";

const options = ["--save", "", "--appendonly", "no", "--repl-diskless-sync-delay", "0"];
/** A privileged port with no listener. */
const unusedPort = 1;

describeWithRedis("a planned failover that keeps connections", () => {
  describe.concurrent.each(clientKinds)("with $name", (kind) => {
    test("under load, the client leaves the demoted primary after a 503, and every event is applied once", async (context) => {
      const all = await rig(context, { kind, redis: options });
      const { admin, proxy } = all;
      const source = ["--replicaof", "127.0.0.1", String(all.server.port)];
      const successor = await redisServer([...options, ...source]);
      context.onTestFinished(() => successor.close());
      await until(
        // The replica reports `master_link_status:up` earlier, when FAILOVER may still reject it.
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
      // The address moves some time after the demotion.
      proxy.divertTo(unusedPort);
      await admin.call("FAILOVER", "TO", "127.0.0.1", String(successor.port));
      // Uses the server's count: the receiver does not report an error after its call's deadline, and
      // during the failover, the primary pauses writes for seconds if the machine is busy.
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
