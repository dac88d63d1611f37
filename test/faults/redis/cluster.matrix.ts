import { Redis } from "ioredis";
import { describe, expect } from "vitest";
import { fakeClock } from "@svc-webhooks/testing";
import {
  clusterProxies,
  clusterReplica,
  describeWithRedis,
  redisCluster,
  type RedisServer,
} from "@svc-webhooks/kit/redis-server";
import { ends } from "@svc-webhooks/kit/sized";
import { until } from "@svc-webhooks/kit/until";
import {
  codesOf,
  expectOutcomesBy,
  idsOf,
  rig,
  test,
  unanswered,
  type Received,
  type Rig,
} from "./rig.js";
import { clusterKinds } from "@svc-webhooks/kit/redis-clients";

const deadlineMs = 120;

/** Returns the ids of the events whose records this server holds. */
async function idsOn({ port }: RedisServer, { keys }: Rig): Promise<readonly string[]> {
  const redis = new Redis(port, "127.0.0.1");
  const found = await redis.keys("*");
  redis.disconnect();
  return [...keys].filter(([, key]) => found.includes(key)).map(([id]) => id);
}

/** Returns the ids of a server's connections whose last command was a script. */
async function callers({ port }: RedisServer): Promise<readonly string[]> {
  const redis = new Redis(port, "127.0.0.1");
  const list = String(await redis.client("LIST"));
  redis.disconnect();
  return Array.from(list.matchAll(/^id=(\d+) .*cmd=eval/gm), ([, id = ""]) => id);
}

describeWithRedis("a cluster", () => {
  // The suites run one after another, because a failover keeps both cores busy and response times are measured.
  describe.each(ends(clusterKinds))("behind $name", (kind) => {
    test("serves all slots but those of an unavailable master, and all of them when it is back", async (context) => {
      const servers = await redisCluster();
      let [doomed] = servers;
      if (!doomed) throw new Error("`redisCluster` returned no servers.");
      context.onTestFinished(async () => {
        for (const server of [doomed, ...servers]) await server?.close();
      });
      const all = await rig(context, {
        kind,
        servers,
        storeTimeouts: { claim: deadlineMs },
        during(id, run) {
          if (id.startsWith("failed") && run === 1) throw new Error("no");
        },
      });
      const done = idsOf(100, "done");
      const failed = idsOf(100, "failed");
      await all.insistAll(done);
      await until(() => all.completions.length === done.length, "all are done");
      const fail = (id: string) =>
        until(async () => (await all.deliver(id)).code === "handler_failed", `${id} has failed`);
      await Promise.all(failed.map(fail));
      const lost = new Set(await idsOn(doomed, all));
      const isAvailable = (id: string) => !lost.has(id);

      const [first, second, third] = [0, 10, 20].map((start) => [...lost].slice(start, start + 10));
      for (const signal of ["SIGSTOP", "SIGKILL"] as const) {
        doomed.process.kill(signal);
        const rejected: Received[] = [];
        // The deliveries are sent in groups, so that one pause of this machine does not affect all measured
        // times.
        for (const ids of [first, second, third]) {
          rejected.push(...(await all.deliverAll(ids ?? [])));
        }
        expect(codesOf(rejected)).toEqual({ store_unavailable: 30 });
        expectOutcomesBy(deadlineMs, rejected);
      }
      const reportsBefore = all.reports.length;
      await all.insistAll([...done, ...failed].filter(isAvailable));
      const codes = all.codes().slice(reportsBefore);
      expect(codes).toContain("duplicate");
      expect(codes).toContain("processed");

      doomed = await doomed.restart();
      await all.insistAll([...done, ...failed]);
      all.expectNothingLost([...done, ...failed]);
      // The master restarted empty, so the completed events that it had held ran again.
      const twice = [...lost].filter((id) => id.startsWith("done"));
      all.expectApplied([...done, ...failed, ...twice]);
    });

    test("the client leaves a demoted master that keeps its read-only connections, and every event is applied once", async (context) => {
      const servers = await redisCluster();
      context.onTestFinished(async () => {
        for (const server of servers) await server.close();
      });
      const successor = await clusterReplica(servers);
      context.onTestFinished(() => successor.close());
      const all = await rig(context, { kind, servers });
      const before = idsOf(100, "before");
      await all.insistAll(before);
      const direct = new Redis(successor.port, "127.0.0.1");
      context.onTestFinished(() => direct.disconnect());

      await all.client.readReplicas?.();
      await direct.cluster("FAILOVER");
      await until(async () => (await all.admin.role())[0] === "slave", "the master is demoted");
      const after = idsOf(100, "after");
      const outcomes = await all.deliverAll(after);
      expect(new Set(Object.keys(codesOf(outcomes)))).toContain("store_unavailable");
      expect(all.lines.join()).toContain("READONLY");
      await all.insistAll(after);
      all.expectApplied([...before, ...after]);
      await until(() => all.completions.length === 200, "all are done");
      expect(codesOf(await all.deliverAll([...before, ...after]))).toEqual({ duplicate: 200 });
      all.expectNothingLost([...before, ...after]);
    });

    test("the connection to one master silently stops responding: only that one is left", async (context) => {
      const servers = await redisCluster();
      context.onTestFinished(async () => {
        for (const server of servers) await server.close();
      });
      const proxies = await clusterProxies(servers);
      context.onTestFinished(async () => {
        for (const proxy of proxies) await proxy.close();
      });
      const clock = fakeClock();
      const ports = proxies.map(({ port }) => port);
      const all = await rig(context, {
        kind: { ...kind, open: () => kind.open(ports) },
        servers,
        clock,
      });
      const before = idsOf(30, "before");
      await all.insistAll(before);
      const [[first = ""] = [], ...healthy] = await Promise.all(
        servers.map((server) => idsOn(server, all)),
      );
      const others = servers.slice(1);
      const used = await Promise.all(others.map(callers));
      expect(used.flat()).not.toEqual([]);
      proxies[0]?.abandon();
      // Meanwhile, the other masters reply to all calls.
      await unanswered(all, clock, first, () => all.deliverAll(healthy.flat()));
      await all.insist(first);
      expect(codesOf(await all.deliverAll(before))).toEqual({ duplicate: before.length });
      all.expectApplied(before);
      expect(await Promise.all(others.map(callers))).toEqual(used);
    });
  });
});
