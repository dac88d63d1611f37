import { readFileSync } from "node:fs";
import type { Redis } from "ioredis";
import { expect, test } from "vitest";
import { oneRedis } from "@svc-webhooks/kit/one-redis";
import { call, claimBy } from "@svc-webhooks/kit/receivers";
import { describeWithRedis } from "@svc-webhooks/kit/redis-server";
import { redisStore } from "../src/index.js";

const readme = readFileSync(new URL("../README.md", import.meta.url), "utf8");

/** The documented value of a record in this state, as a pattern. */
function documented(state: string): RegExp {
  const value = new RegExp(`^\\| ${state} +\\| \`(.+?)\``, "m").exec(readme)?.[1] ?? "";
  const parts = { "<lineage>": "[0-9a-f]{32}", "<run>": "\\d+", "<token>": "a" };
  return new RegExp(
    `^${value.replaceAll(/<[^>]+>/g, (part) => parts[part as keyof typeof parts] ?? "\\d{13}")}$`,
  );
}

describeWithRedis("the README", () => {
  let redis: Redis;
  oneRedis((client) => (redis = client));

  test("shows the values of all records", async () => {
    const store = redisStore(redis);
    const claim = { ...claimBy("a"), lineage: "0123456789abcdef".repeat(2) };
    const value = () => redis.get("svc-webhooks:1");

    await store.claim("1", claim, call);
    expect(await value()).toMatch(documented("running"));
    await store.release("1", { ...claim, to: "failed" }, call);
    expect(await value()).toMatch(documented("failed"));
    await store.claim("1", claim, call);
    await store.release("1", { ...claim, to: "parked" }, call);
    expect(await value()).toMatch(documented("parked"));
    await store.complete("1", claim, call);
    expect(await value()).toMatch(documented("done"));
  });
});
