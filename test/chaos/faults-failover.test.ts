import { describe, expect } from "vitest";
import { describeWithRedis, redisServer } from "../support/redis-server.js";
import { test, until } from "./faults-bench.js";
import { clientKinds } from "./faults-clients.js";

const options = ["--save", "", "--appendonly", "no", "--repl-diskless-sync-delay", "0"];
/** A port that nobody may listen on. */
const nobody = 1;

describeWithRedis("a planned failover that keeps connections", () => {
  describe.concurrent.each(clientKinds)("with $name", (kind) => {
    test("under load: 503 from the demoted primary, then the client leaves it, and every event is applied once", async ({
      bench,
      onTestFinished,
    }) => {
      const all = await bench({ kind, redis: options });
      const { admin, proxy } = all;
      const source = ["--replicaof", "127.0.0.1", String(all.server.port)];
      const successor = await redisServer([...options, ...source]);
      onTestFinished(() => successor.close());
      await until(
        // The replica's own `master_link_status:up` comes earlier, and FAILOVER may still refuse it.
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
      // The address moves some time after the primary has been demoted.
      proxy.divertTo(nobody);
      await admin.call("FAILOVER", "TO", "127.0.0.1", String(successor.port));
      // As the server counts them: the receiver reports none that comes after its call's deadline, and
      // a primary that hands over pauses writes for seconds where the machine is busy.
      await until(
        async () => (await admin.info("errorstats")).includes("errorstat_READONLY"),
        "a write is refused",
      );
      await until(() => all.codes().includes("store_unavailable"), "a delivery is refused");
      proxy.divertTo(successor.port);
      await someMore();
      over.abort();
      await Promise.all(senders);

      expect(await admin.role()).toContain("slave");
      await until(() => all.completions.length === sent.length, "all are done");
      expect(all.applied.toSorted()).toEqual(sent.toSorted());
      all.expectNothingLost(sent);
    });
  });
});
