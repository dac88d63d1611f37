import { join } from "node:path";
import { describeWithRedis, redisServer, type RedisServer } from "@svc-webhooks/kit/redis-server";
import { until } from "@svc-webhooks/kit/until";
import { afterAll, beforeAll, expect, test, type TestContext } from "vitest";
import { here, start } from "./cases.js";
import { effectsApi, type EffectsApi } from "./effects.js";
import type { Program } from "./program.js";
import { sns, snsMessage, topicArn } from "./senders/sns.js";
import { sqs } from "./senders/sqs.js";

const files = ["before.mjs", "after.mjs"] as const;

describeWithRedis("one process", () => {
  let redis: RedisServer;
  let api: EffectsApi;
  beforeAll(async () => {
    [redis, api] = await Promise.all([redisServer(), effectsApi()]);
  });
  afterAll(async () => {
    api?.close();
    await redis?.close();
  });

  const startOne = (context: TestContext, program: Program, file: string) =>
    start(context, [join(here, program.folder, file)], {
      ...program.environment(),
      REDIS_URL: `redis://127.0.0.1:${redis.port}`,
      EFFECTS_URL: api.addressFor("process"),
    });

  test.for(files)("sns/%s confirms subscriptions of its own topic only", async (file, context) => {
    const { send } = await startOne(context, sns, file);
    const confirm = (arn: string) =>
      send({
        path: "/sns",
        headers: { "content-type": "text/plain; charset=UTF-8" },
        body: JSON.stringify(
          snsMessage({
            Type: "SubscriptionConfirmation",
            TopicArn: arn,
            Token: "token",
            SubscribeURL:
              "https://sns.eu-west-1.amazonaws.com/?Action=ConfirmSubscription&Token=token",
          }),
        ),
      });
    const before = api.count("token");
    expect(await confirm(`${topicArn}-2`)).toBe(403);
    expect(api.count("token")).toBe(before);
    expect(await confirm(topicArn)).toBe(204);
    expect(api.count("token")).toBe(before + 1);
  });

  test.for(files)(
    "sqs/%s reports the messages that failed, and no others",
    async (file, context) => {
      const { port } = await startOne(context, sqs, file);
      const ids = Object.fromEntries(
        ["first", "failing", "last"].map((name) => [name, `${file}-${name}`]),
      );
      api.plan(`${file}-failing`, { first: () => Promise.resolve(false), later: () => {} });
      const orders = Object.entries(ids).map(([messageId, id]) => ({
        messageId,
        body: JSON.stringify({ id, type: "order.paid" }),
      }));
      const broken = [
        { messageId: "text", body: "{" },
        { messageId: "null", body: "null" },
      ];
      const Records = [...broken, ...orders];
      const deliver = async () => {
        const request = { method: "POST", body: JSON.stringify({ Records }) };
        const response = await fetch(`http://127.0.0.1:${port}/`, request);
        const failures = (await response.json()) as readonly { readonly itemIdentifier: string }[];
        return failures.map(({ itemIdentifier }) => itemIdentifier);
      };
      const reported = await deliver();
      // On a busy machine, the store may also be too slow for an order, which then has no effect.
      const missing = Object.keys(ids).filter((name) => api.count(String(ids[name])) === 0);
      expect(reported).toEqual(["text", "null", ...missing]);
      expect(missing).toContain("failing");
      await until(async () => String(await deliver()) === "text,null", "all orders are done");
      const effects = Object.values(ids).map((id) => api.count(id));
      expect(effects).toEqual(file === "after.mjs" ? [1, 1, 1] : [2, 1, 2]);
    },
  );
});
