import { readFileSync } from "node:fs";
import { Redis } from "ioredis";
import { Redis as Ioredis5 } from "ioredis5";
import { expect, onTestFinished, test } from "vitest";
import { signed } from "@svc-webhooks/kit/deliveries";
import { call, claimBy, observedReceiver, week } from "@svc-webhooks/kit/receivers";
import { oneRedis } from "@svc-webhooks/kit/one-redis";
import { describeWithRedis, type RedisServer } from "@svc-webhooks/kit/redis-server";
import { redisStore } from "../src/index.js";

const lineage = "0123456789abcdef0123456789abcdef";
const key = "svc-webhooks:1";
const claim = claimBy("a");

const readme = readFileSync(new URL("../README.md", import.meta.url), "utf8");

/** Returns the documented value of a record in this state, with its placeholders replaced. */
const documented = (state: string, parts: Readonly<Record<string, string>>): RegExp => {
  const value = new RegExp(`^\\| ${state} +\\| \`(.+?)\``, "m").exec(readme)?.[1] ?? "";
  return new RegExp(`^${value.replaceAll(/<[^>]+>/g, (part) => parts[part] ?? "\\d{13}")}$`);
};

describeWithRedis("a record", () => {
  let server: RedisServer;
  let redis: Redis;
  oneRedis((client, its) => {
    redis = client;
    server = its;
  });

  test("is one string whose first letter is its state, as in the README", async () => {
    const store = redisStore(redis);
    const owner = { ...claimBy("token a"), lineage };
    const expectRecord = async (letter: string, state: string, run = 0) => {
      const parts = { "<lineage>": lineage, "<run>": String(run), "<token>": "token a" };
      const value = await redis.get(key);
      expect(value).toMatch(documented(state, parts));
      expect(value?.[0]).toBe(letter);
    };

    await store.claim("1", owner, call);
    await expectRecord("r", "running", 1);
    await store.release("1", { ...owner, to: "failed" }, call);
    await expectRecord("f", "failed", 1);
    await store.claim("1", owner, call);
    await expectRecord("r", "running", 2);
    await store.release("1", { ...owner, to: "parked" }, call);
    await expectRecord("p", "parked");
    await store.complete("1", owner, call);
    await expectRecord("d", "done");
    expect(await redis.dbsize()).toBe(1);
    await store.complete("2", claim, call);
    expect(await redis.get("svc-webhooks:2")).toBe("d");
  });

  test("is kept for the retention from its last claim, release or completion", async () => {
    const store = redisStore(redis);
    const steps = [
      () => store.claim("1", claim, call),
      () => store.release("1", { ...claim, to: "failed" }, call),
      () => store.complete("1", claim, call),
      () => store.complete("1", claim, call),
    ];
    for (const step of steps) {
      await redis.pexpire(key, 60_000);
      await step();
      const left = await redis.pttl(key);
      expect(left).toBeLessThanOrEqual(week);
      expect(left).toBeGreaterThan(week - 60_000);
    }
  });

  test("that is extended keeps its retention and lasts at least as long as its lease", async () => {
    const store = redisStore(redis);
    await store.claim("1", claim, call);
    await redis.pexpire(key, 3_600_000);
    await store.extend("1", claim, call);
    expect(await redis.pttl(key)).toBeGreaterThan(3_500_000);
    expect(await redis.pttl(key)).toBeLessThanOrEqual(3_600_000);
    await redis.pexpire(key, 1_000);
    await store.extend("1", claim, call);
    expect(await redis.pttl(key)).toBeGreaterThan(1_000);
  });

  test("has a key that reveals nothing about the delivery", async () => {
    const { receiver } = observedReceiver({ name: "billing", store: redisStore(redis) });
    await receiver.receive(await signed(undefined, { "x-svc-delivery-id": "dlv_secret" }));
    expect(await redis.keys("*")).toEqual([expect.stringMatching(/^svc-webhooks:[0-9a-f]{32}$/)]);
  });

  test("is invisible to a store with another prefix", async () => {
    await redisStore(redis, { prefix: "a:" }).complete("1", claimBy("a"), call);
    const other = redisStore(redis, { prefix: "b:" });
    expect(await other.claim("1", claimBy("b"), call)).toMatchObject({ status: "claimed" });
    const undefinedIsDefault = redisStore(redis, { prefix: undefined });
    await undefinedIsDefault.claim("1", claimBy("c"), call);
    expect((await redis.keys("*")).toSorted()).toEqual(["a:1", "b:1", key]);
  });

  test("of any size is peeked at with a reply of one letter, and without any change", async () => {
    const store = redisStore(redis);
    const huge = "x".repeat(1_000_000);
    await redis.set("svc-webhooks:done", `d${huge}`, "PX", 60_000);
    await redis.set("svc-webhooks:parked", `p${huge} 1`);
    await redis.set("svc-webhooks:running", `r1 1 ${Date.now() + 60_000} ${huge}`);
    await redis.set("svc-webhooks:dead", `r1 1 ${Date.now() - 1} ${huge}`);
    await redis.set("svc-webhooks:far", "r1 1 99999999999999999999 a");
    const keys = ["done", "parked", "running", "dead", "far", "absent"];
    const dump = () =>
      Promise.all(keys.map(async (one) => redis.dump(`svc-webhooks:${one}`).catch(() => "")));
    const before = await dump();
    await redis.config("RESETSTAT");
    expect(await store.peek?.(keys, call)).toEqual([
      "done",
      "parked",
      "running",
      "failed",
      "running",
      undefined,
    ]);
    const stats = await redis.info("stats");
    expect(Number(/total_net_output_bytes:(\d+)/.exec(stats)?.[1])).toBeLessThan(10_000);
    expect(await dump()).toEqual(before);
    expect(await redis.pttl("svc-webhooks:done")).toBeGreaterThan(0);
    expect(await redis.pttl("svc-webhooks:parked")).toBe(-1);
  });

  test("is peeked at together with 999 others in one command", async () => {
    const store = redisStore(redis);
    await store.complete("7", claim, call);
    const keys = Array.from({ length: 1_000 }, (_, index) => String(index));
    await store.peek?.(keys, call);
    await redis.config("RESETSTAT");
    const states = await store.peek?.(keys, call);
    expect(states?.map((state, index) => state && index).filter(Boolean)).toEqual([7]);
    const commands = await redis.info("commandstats");
    expect(commands).toContain("cmdstat_evalsha:calls=1,");
    expect(commands).not.toContain("cmdstat_eval:");
  });

  test("takes at most 200 bytes when it is done", async () => {
    const store = redisStore(redis);
    const keys = ["1", "2"].map((digit) => digit.repeat(32)) as [string, string];
    await store.complete(keys[0], claimBy("a"), call);
    await store.complete(keys[1], { ...claimBy("a"), lineage }, call);
    for (const one of keys) {
      expect(await redis.memory("USAGE", `svc-webhooks:${one}`)).toBeLessThanOrEqual(200);
    }
  });

  const malformed = ["hello", "", " ", "0", "{}", "r", "r1 2", "r1 2 x a", "f", "f1", "f1 2 3"];
  test.each([...malformed, "r-1 1 1 a"])(
    "with the foreign value %j is rejected and left alone",
    async (value) => {
      const store = redisStore(redis);
      await redis.set(key, value);
      for (const step of [
        async () => store.claim("1", claim, call),
        async () => store.complete("1", claim, call),
        async () => store.release("1", { ...claim, to: "failed" }, call),
        async () => store.extend("1", claim, call),
        async () => store.forget("1", call),
      ]) {
        await expect(step()).rejects.toThrow(
          "The value of this key is not a record of svc-webhooks.",
        );
      }
      await expect(store.peek?.(["2", "1", "3"], call)).rejects.toThrow(
        "The value of key 2 of this call is not a record of svc-webhooks.",
      );
      expect(await redis.get(key)).toBe(value);
      expect(await redis.pttl(key)).toBe(-1);
    },
  );

  test("with a foreign value that is not a string is rejected and left alone", async () => {
    const store = redisStore(redis);
    await redis.rpush(key, "hello");
    await expect(store.claim("1", claim, call)).rejects.toThrow("WRONGTYPE");
    await expect(store.complete("1", claim, call)).rejects.toThrow("WRONGTYPE");
    await expect(store.forget("1", call)).rejects.toThrow("WRONGTYPE");
    await expect(store.peek?.(["2", "1"], call)).rejects.toThrow("WRONGTYPE");
    expect(await redis.lrange(key, 0, -1)).toEqual(["hello"]);
  });

  test.each([
    ["stringNumbers in ioredis 6", () => new Redis(server.port, { stringNumbers: true })],
    ["stringNumbers in ioredis 5", () => new Ioredis5(server.port, { stringNumbers: true })],
    ["replyMapping in ioredis 6", () => new Redis(server.port, { replyMapping: "resp3" })],
    ["protocol 2 in ioredis 6", () => new Redis(server.port, { protocol: 2 })],
    ["automatic pipelines", () => new Redis(server.port, { enableAutoPipelining: true })],
  ])("is the same with %s", async (_name, make) => {
    const client = make();
    onTestFinished(() => client.disconnect());
    await new Promise<void>((resolve) => client.once("ready", () => resolve()));
    const store = redisStore(client);
    const [fence, leaseLeftMs] = [expect.any(Number) as number, expect.any(Number) as number];
    expect(await store.claim("1", claim, call)).toEqual({
      status: "claimed",
      run: 1,
      fence,
      takenOver: false,
    });
    expect(await store.claim("1", claimBy("b"), call)).toEqual({ status: "busy", leaseLeftMs });
    expect(await store.extend("1", claim, call)).toBe(true);
    expect(await store.extend("1", claimBy("b"), call)).toBe(false);
    expect(await store.release("1", { ...claim, to: "failed" }, call)).toBe(true);
    expect(await store.complete("1", claim, call)).toBe("late");
    expect(await store.claim("1", claim, call)).toEqual({ status: "done" });
    expect(await store.forget("1", call)).toBe(true);
    expect(await store.forget("1", call)).toBe(false);
    expect(await store.check?.(call)).toEqual([expect.stringMatching("Nothing is persisted")]);
  });
});
