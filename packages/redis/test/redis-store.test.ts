import { Cluster, Redis } from "ioredis";
import { Cluster as Cluster5, Redis as Redis5 } from "ioredis5";
import { createClient, createCluster, createSentinel } from "redis";
import { ConfigError } from "@svc-webhooks/core";
import { expect, expectTypeOf, test } from "vitest";
import { call, claimBy } from "@svc-webhooks/kit/receivers";
import { until } from "@svc-webhooks/kit/until";
import { redisStore, type Connection, type RedisClient } from "../src/index.js";

test.each<unknown>([undefined, null, "redis://localhost", 6379, {}, () => {}])(
  "rejects the client %j",
  (client) => {
    const invalid = { code: "invalid_option", option: "client" };
    expect(() => redisStore(client as RedisClient)).toThrow(ConfigError);
    expect(() => redisStore(client as RedisClient)).toThrow(expect.objectContaining(invalid));
    expect(() => redisStore(client as RedisClient)).toThrow("must be an ioredis client");
  },
);

test("rejects transactions, which have the commands of clients", () => {
  const transactions = [
    new Redis({ lazyConnect: true }).multi(),
    new Redis5({ lazyConnect: true }).pipeline(),
    createClient().multi(),
    createCluster({ rootNodes: [] }).multi(),
  ];
  for (const transaction of transactions) {
    expect(() => redisStore(transaction as unknown as RedisClient)).toThrow("must be an ioredis");
  }
});

test.each<[unknown, string, string]>([
  [{ prefix: null }, "invalid_option", "prefix"],
  [{ prefix: 1 }, "invalid_option", "prefix"],
  [{ prefix: {} }, "invalid_option", "prefix"],
  [{ prefix: ["a:"] }, "invalid_option", "prefix"],
  [{ prefx: "a:" }, "unknown_option", "prefx"],
  [null, "invalid_option", "options"],
  ["a:", "invalid_option", "options"],
])("rejects the options %j", (options, code, option) => {
  const client = new Redis({ lazyConnect: true });
  const build = () => redisStore(client, options as object);
  expect(build).toThrow(ConfigError);
  expect(build).toThrow(expect.objectContaining({ code, option }));
  expect(client.status).toBe("wait");
});

test("accepts every client that the README names and connects none of them", () => {
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
  [false, "rejects"],
  [true, "resolves"],
])(
  "with a client that has isOpen %s but no isReady, as clusters of node-redis 5, a claim %s",
  async (isOpen) => {
    const evalSha = async () => "d";
    const store = redisStore({ isOpen, evalSha, eval: evalSha });
    const claim = store.claim("1", claimBy("a"), call);
    if (isOpen) expect(await claim).toEqual({ status: "done" });
    else await expect(claim).rejects.toThrow("The Redis client is not connected.");
  },
);

test.each([
  ["connecting", "The Redis client is not connected (connecting)."],
  ["ready", "The Redis client is not connected."],
])(
  "while an ioredis client that is %s has no stream, a claim rejects: %s",
  async (status, text) => {
    const client = {
      status,
      stream: { writable: false },
      connect: async () => {},
      disconnect() {},
      evalsha: async () => "d",
      eval: async () => "d",
      call: async () => [],
    };
    await expect(redisStore(client).claim("1", claimBy("a"), call)).rejects.toThrow(text);
  },
);

const durable = new Map([
  ["maxmemory-policy", "noeviction"],
  ["appendonly", "yes"],
]);

/** Returns a connection to a durable server that returns `reply` to every script. */
const replying = (reply: unknown): Connection => ({
  run: async () => reply,
  setting: async (name) => durable.get(name),
});

test("a user's Connection receives each script with its keys and arguments as strings", async () => {
  const calls: unknown[] = [];
  const run: Connection["run"] = async (...given) => {
    calls.push(given);
    return "c1795000000000 1";
  };
  const store = redisStore({ run, setting: async () => undefined }, { prefix: "a:" });
  const granted = {
    status: "claimed",
    fence: 1_795_000_000_000,
    run: 1,
    takenOver: false,
  };
  expect(await store.claim("1", claimBy("token"), call)).toEqual(granted);
  const script = {
    sha1: expect.stringMatching(/^[0-9a-f]{40}$/),
    source: expect.stringContaining("redis.call"),
  };
  expect(calls).toMatchObject([
    [script, ["a:1"], ["token", "30000", "604800000"], { signal: call.signal }],
  ]);
});

test.each([null, undefined, "", "OK", 1])("the reply %j to a claim is an error", async (reply) => {
  const claim = async () => redisStore(replying(reply)).claim("1", claimBy("a"), call);
  await expect(claim()).rejects.toThrow(/^Redis returned an unexpected reply to a claim: /);
});

test.each([null, undefined, "", "OK", "d", "ddd", "dx", "dconstructor", ["d", "d"], 11])(
  "the reply %j to a peek at two keys is an error",
  async (reply) => {
    const peek = async () => redisStore(replying(reply)).peek?.(["1", "2"], call);
    await expect(peek()).rejects.toThrow(/^Redis returned an unexpected reply to a peek: /);
  },
);

test("on a cluster, a peek sends one pipeline of scripts, and only the first peek tries one script", async () => {
  const sent: (readonly string[])[] = [];
  const held: (() => void)[] = [];
  const store = redisStore(
    {
      run(_script, keys) {
        sent.push(keys);
        if (keys.length > 1) {
          return Promise.reject(new Error("CROSSSLOT Keys in request don't hash to the same slot"));
        }
        return new Promise((resolve) => held.push(() => resolve(keys[0] === "a:2" ? "p" : "-")));
      },
      setting: async () => undefined,
    },
    { prefix: "a:" },
  );
  const keys = ["1", "2", "3"];
  const each = [["a:1"], ["a:2"], ["a:3"]];
  for (const expected of [[["a:1", "a:2", "a:3"], ...each], each]) {
    sent.length = 0;
    const peeked = store.peek?.(keys, call);
    // No script waits for the reply to another one.
    await until(() => held.length === 3, "the pipeline is sent");
    expect(sent).toEqual(expected);
    for (const reply of held.splice(0)) reply();
    expect(await peeked).toEqual([undefined, "parked", undefined]);
  }
});

test("a peek rejects with any other error, and tries one script again", async () => {
  const sent: number[] = [];
  const store = redisStore({
    run(_script, keys) {
      sent.push(keys.length);
      return Promise.reject(new Error("connection reset"));
    },
    setting: async () => undefined,
  });
  for (let time = 0; time < 2; time += 1) {
    await expect(store.peek?.(["1", "2"], call)).rejects.toThrow("connection reset");
  }
  expect(sent).toEqual([2, 2]);
});

const drift = ["The server's clock differs from this machine's by 5 s. Synchronize both clocks."];

test.each([
  ["5 s ahead", 5_000, drift],
  ["5 s behind", -5_000, drift],
  ["equal", 0, []],
])("check() compares the clocks: %s", async (_name, driftMs, problems) => {
  const store = redisStore(replying(String(Date.now() + driftMs)));
  expect(await store.check()).toEqual(problems);
});

test("recognizes a replica of Redis 6.2, which wraps the error of a script, and reports it", async () => {
  // The text is from scripting.c of 6.2; the installed server of the other tests is newer.
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
    on: () => {},
  } as RedisClient);
  await expect(store.claim("1", claimBy("a"), call)).rejects.toThrow("READONLY");
  expect(commands).toEqual([["QUIT"]]);

  const replica = redisStore(replying(`${Date.now()} ${refusal}`));
  expect(await replica.check(call)).toEqual([expect.stringContaining("is a replica")]);
});
