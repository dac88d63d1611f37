import { describe } from "vitest";
import { clientKinds, clusterKinds } from "@svc-webhooks/kit/redis-clients";
import {
  clusterProxies,
  redisCluster,
  redisServer,
  type RedisServer,
} from "@svc-webhooks/kit/redis-server";
import { kindsOf } from "@svc-webhooks/kit/kinds";
import { tcpProxy, type TcpProxy } from "@svc-webhooks/kit/tcp-proxy";
import { redisContract, type Topology } from "./redis-contract.js";

const behind = (servers: readonly RedisServer[], proxies: readonly TcpProxy[]): Topology => ({
  servers,
  proxies,
  ports: proxies.map(({ port }) => port),
  close: () => Promise.all([...proxies, ...servers].map((one) => one.close())),
});

/** One version of each client package. */
const oneOfEach = clientKinds.filter(({ name }) => name !== "ioredis 5");

describe("on one server", () => {
  const start = async () => {
    const server = await redisServer();
    return behind([server], [await tcpProxy(server.port)]);
  };
  redisContract(kindsOf(oneOfEach, clientKinds), start, { abandons: true });
});

describe("on a cluster of three", () => {
  const start = async () => {
    const servers = await redisCluster();
    return behind(servers, await clusterProxies(servers));
  };
  redisContract(kindsOf(clusterKinds.slice(0, 1), clusterKinds), start, { abandons: true });
});
