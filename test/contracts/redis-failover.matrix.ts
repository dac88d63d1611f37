import { describe } from "vitest";
import { clusterKinds, sentinelKinds } from "@svc-webhooks/kit/redis-clients";
import { redisCommand } from "@svc-webhooks/kit/redis-command";
import {
  clusterReplica,
  redisCluster,
  redisSentinel,
  type RedisServer,
} from "@svc-webhooks/kit/redis-server";
import { ends } from "@svc-webhooks/kit/sized";
import { until } from "@svc-webhooks/kit/until";
import { redisContract } from "./redis-contract.js";

const isPrimary = async (server: RedisServer) =>
  (await redisCommand(server, "INFO", "replication")).includes("role:master");

describe("on a cluster of which a master was killed", () => {
  redisContract(ends(clusterKinds), async () => {
    const masters = await redisCluster();
    const replica = await clusterReplica(masters);
    const [doomed, ...others] = masters;
    const servers = [replica, ...others];
    const serves = async (server: RedisServer) =>
      (await redisCommand(server, "CLUSTER", "INFO")).includes("cluster_state:ok");
    return {
      servers,
      ports: masters.map(({ port }) => port),
      async disturb() {
        for (const server of servers) {
          await redisCommand(server, "CONFIG", "SET", "cluster-node-timeout", "1000");
        }
        await doomed?.kill();
        const isReplaced = async () =>
          (await isPrimary(replica)) && (await Promise.all(servers.map(serves))).every(Boolean);
        await until(isReplaced, "the replica has replaced the master");
      },
      close: () => Promise.all([replica, ...masters].map((server) => server.close())),
    };
  });
});

describe("behind a Sentinel whose primary was killed", () => {
  redisContract(ends(sentinelKinds), async () => {
    const { replica, port, killPrimary, close } = await redisSentinel();
    return {
      servers: [replica],
      ports: [port],
      async disturb() {
        await killPrimary();
        await until(() => isPrimary(replica), "the replica has been promoted");
      },
      close,
    };
  });
});
