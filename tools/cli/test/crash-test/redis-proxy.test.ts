import { spawnSync } from "node:child_process";
import { describeWithRedis, redisServer } from "@svc-webhooks/kit/redis-server";
import { createClient } from "redis";
import { expect, onTestFinished, test } from "vitest";
import { Crossings } from "../../src/crash-test/crossings.js";
import { createRedisGuard } from "../../src/crash-test/proxies/redis-guard.js";
import { redisProxy } from "../../src/crash-test/proxies/redis.js";

describeWithRedis("a Redis server that the command has not started", () => {
  /** Connects a client through a proxy whose server may use only database 5. */
  async function throughProxy(password = "") {
    const redis = await redisServer();
    onTestFinished(() => redis.close());
    const cli = (...args: readonly string[]) =>
      spawnSync("redis-cli", ["-p", `${redis.port}`, ...args], {
        encoding: "utf8",
        env: { ...process.env, REDISCLI_AUTH: password || undefined },
      }).stdout.trim();
    if (password !== "") cli("config", "set", "requirepass", password);
    const actions = { kill: () => Promise.resolve(), freeze: () => Promise.resolve() };
    const crossings = new Crossings([], [], actions);
    crossings.begin();
    crossings.recorder.attempt({ event: 0, n: 1, isCopy: false, process: "A" });
    const guard = createRedisGuard(new URL(`redis://:${password}@127.0.0.1:${redis.port}/5`));
    const proxy = await redisProxy({
      process: "A",
      host: "127.0.0.1",
      port: redis.port,
      crossings,
      guard,
    });
    onTestFinished(proxy.close);
    // No database is selected.
    const client = createClient({ socket: { host: "127.0.0.1", port: proxy.port } });
    client.on("error", () => {});
    await client.connect();
    onTestFinished(() => client.destroy());
    return { cli, client, guard, crossings };
  }

  test("keeps its database 0, although the client selects no database", async () => {
    const { cli, client, guard, crossings } = await throughProxy();
    // A store asks for it when its connection may have died, which depends on the time.
    await client.sendCommand(["TIME"]);
    await client.set("a", "1");
    expect([cli("-n", "0", "dbsize"), cli("-n", "5", "get", "a")]).toEqual(["0", "1"]);
    expect([...guard.written]).toEqual(["a"]);
    expect(crossings.recorder.crossings.map(({ name }) => name)).toEqual(["SET a"]);
  });

  test("keeps it after RESET, COPY to another database, and scripts that select or flush", async () => {
    const { cli, client } = await throughProxy();
    cli("-n", "0", "set", "theirs", "1");
    const refused = /does not forward/;
    await client.set("a", "1");
    for (const command of [
      ["RESET"],
      ["COPY", "a", "theirs", "DB", "0", "REPLACE"],
      ["EVAL", "redis.call('SELECT', 0) return redis.call('set', 'theirs', 2)", "0"],
      ["EVAL", "return redis.call('flushall')", "0"],
      ["CONFIG", "SET", "maxmemory", "1mb"],
    ]) {
      await expect(client.sendCommand(command)).rejects.toThrow(refused);
    }
    await client.set("b", "1");
    expect([cli("-n", "0", "get", "theirs"), cli("-n", "0", "dbsize")]).toEqual(["1", "1"]);
    expect(cli("-n", "5", "dbsize")).toBe("2");
  });

  test("gets the password of the URL before the database is selected", async () => {
    const { cli, client } = await throughProxy("hidden");
    await client.set("a", "1");
    expect([cli("-n", "0", "dbsize"), cli("-n", "5", "get", "a")]).toEqual(["0", "1"]);
  });
});
