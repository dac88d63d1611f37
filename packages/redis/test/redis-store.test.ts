import { Cluster, Redis } from "ioredis";
import { Cluster as Cluster5, Redis as Redis5 } from "ioredis5";
import { createClient, createCluster, createSentinel } from "redis";
import { expect, expectTypeOf, test } from "vitest";
import { call, claimBy } from "../../../test/support/receivers.js";
import { redisStore, type Connection, type RedisClient } from "../src/index.js";

test.each<unknown>([undefined, null, "redis://localhost", 6379, {}, () => {}])(
  "%j is no client",
  (client) => {
    expect(() => redisStore(client as RedisClient)).toThrow(TypeError);
    expect(() => redisStore(client as RedisClient)).toThrow("no client of ioredis");
  },
);

test.each<unknown>([null, 1, {}, ["a:"]])("%j is no prefix", (prefix) => {
  const client = new Redis({ lazyConnect: true });
  expect(() => redisStore(client, { prefix: prefix as string })).toThrow(TypeError);
  expect(client.status).toBe("wait");
});

test("all that the README names are clients, and none is connected by making a store", () => {
  const ioredis = [
    new Redis({ lazyConnect: true }),
    new Redis5({ lazyConnect: true }),
    new Cluster([], { lazyConnect: true }),
    new Cluster5([], { lazyConnect: true }),
  ];
  const nodeRedis = [
    createClient(),
    createClient({ RESP: 2 }),
    createCluster({ rootNodes: [] }),
    createSentinel({ name: "main", sentinelRootNodes: [] }),
  ];
  for (const client of [...ioredis, ...nodeRedis]) {
    expectTypeOf(client).toExtend<RedisClient>();
    expect(redisStore(client).shared).toBe(true);
  }
  expect(ioredis.map(({ status }) => status)).toEqual(["wait", "wait", "wait", "wait"]);
  expect(nodeRedis.map(({ isOpen }) => isOpen)).toEqual([false, false, false, false]);
});

test.each([
  [false, "refuses"],
  [true, "serves"],
])("a client without isReady, as clusters of node-redis 5, and isOpen %s, %s", async (isOpen) => {
  const evalSha = async () => "d";
  const store = redisStore({ isOpen, evalSha, eval: evalSha });
  const claim = store.claim("1", claimBy("a"), call);
  if (isOpen) expect(await claim).toEqual({ status: "done" });
  else await expect(claim).rejects.toThrow("the Redis client is not connected");
});

/** A connection that answers what it is told, and remembers what it was asked. */
function answering(answer: unknown) {
  const asked: { keys: readonly string[]; args: readonly string[] }[] = [];
  const connection: Connection = {
    run: async (script, keys, args) => {
      expect(script.sha1).toMatch(/^[0-9a-f]{40}$/);
      expect(script.source).toContain("redis.call");
      asked.push({ keys, args });
      return answer;
    },
    setting: async () => undefined,
  };
  return { asked, connection };
}

test("a connection of one's own gets a script with its keys and arguments, all strings", async () => {
  const { asked, connection } = answering("c1795000000000 1");
  const store = redisStore(connection, { prefix: "a:" });
  expect(await store.claim("1", claimBy("token"), call)).toEqual({
    status: "claimed",
    fence: 1_795_000_000_000,
    run: 1,
  });
  expect(asked).toEqual([{ keys: ["a:1"], args: ["token", "30000", "604800000"] }]);
});

test.each([null, undefined, "", "OK", 1])(
  "the answer %j to a claim is an error",
  async (answer) => {
    const store = redisStore(answering(answer).connection);
    await expect(store.claim("1", claimBy("a"), call)).rejects.toThrow(
      "Redis answered a claim with",
    );
  },
);

test.each([
  ["5 s ahead", 5_000, ["the server's clock is 5 s away from this machine's"]],
  ["5 s behind", -5_000, ["the server's clock is 5 s away from this machine's"]],
  ["right", 0, []],
])("check() compares the clocks: %s", async (_name, driftMs, problems) => {
  const settings = new Map([
    ["maxmemory-policy", "noeviction"],
    ["appendonly", "yes"],
  ]);
  const store = redisStore({
    run: async () => String(Date.now() + driftMs),
    setting: async (name) => settings.get(name),
  });
  expect(await store.check?.(call)).toEqual(problems);
});

test("a replica of Redis 6.2, which wraps what a script was refused, is left and reported", async () => {
  // As scripting.c of 6.2 puts it; the other tests are on what is installed, which is newer.
  const refusal =
    "@user_script:25: @user_script: 25: -READONLY You can't write against a read only replica.";
  const commands: (readonly string[])[] = [];
  const refuse = () =>
    Promise.reject(new Error(`ERR Error running script (call to f_0123): ${refusal}`));
  const store = redisStore({
    isOpen: true,
    evalSha: refuse,
    eval: refuse,
    sendCommand: async (words: readonly string[]) => commands.push(words),
  } as RedisClient);
  await expect(store.claim("1", claimBy("a"), call)).rejects.toThrow("READONLY");
  expect(commands).toEqual([["QUIT"]]);

  const settings = new Map([
    ["maxmemory-policy", "noeviction"],
    ["appendonly", "yes"],
  ]);
  const replica = redisStore({
    run: async () => `${Date.now()} ${refusal}`,
    setting: async (name) => settings.get(name),
  });
  expect(await replica.check?.(call)).toEqual([expect.stringContaining("is a replica")]);
});
