import { signedDelivery } from "@svc-webhooks/testing";
import { Redis } from "ioredis";
import { expect, onTestFinished, test } from "vitest";
import { oneRedis } from "../../../test/support/one-redis.js";
import { describeWithRedis, type RedisServer } from "../../../test/support/redis-server.js";
import { redisReceiverByHand } from "../src/byhand/redis.js";
import { checkReceiver } from "../src/check-receiver.js";
import { deliveryOf, eventType, secret } from "../src/deliveries.js";

const id = "dlv_1";
const key = `webhook:${id}`;
const week = 7 * 24 * 60 * 60_000;

describeWithRedis("the receiver by hand on Redis", () => {
  let server: RedisServer;
  let redis: Redis;
  oneRedis((client, its) => {
    redis = client;
    server = its;
  });

  const receiver = (handle: () => unknown, client = redis) =>
    redisReceiverByHand({ secret, on: { [eventType]: handle }, redis: client });

  const send = async (receive: ReturnType<typeof receiver>, event?: unknown) => {
    const { headers, body } = event
      ? await signedDelivery(event, { secret, deliveryId: id })
      : await deliveryOf(1_024, id);
    return receive(headers, Buffer.from(body));
  };

  test("passes the check of contenders", async () => {
    const check = checkReceiver((handle) => {
      const receive = receiver(handle);
      return ({ headers, body }) => receive(headers, body);
    });
    await expect(check).resolves.toBeUndefined();
  });

  test("holds a token for five minutes while it runs, and `done` for a week then", async () => {
    const seen: unknown[] = [];
    const status = await send(
      receiver(async () => seen.push(await redis.get(key), await redis.pttl(key))),
    );
    expect(status).toBe(200);
    expect(seen).toEqual([expect.stringMatching(/^[0-9a-f-]{36}$/), expect.closeTo(300_000, -4)]);
    expect(await redis.get(key)).toBe("done");
    expect(await redis.pttl(key)).toBeCloseTo(week, -4);
  });

  test("does not run what another process runs, and takes it over when that one's time is up", async () => {
    let runs = 0;
    const receive = receiver(() => (runs += 1));
    await redis.set(key, "of another one", "PX", 60_000);
    expect(await send(receive)).toBe(503);
    await redis.del(key);
    expect(await send(receive)).toBe(200);
    expect(runs).toBe(1);
  });

  test("gives a failed delivery back, but not what has become somebody else's meanwhile", async () => {
    const fail = () => Promise.reject(new Error("as planned"));
    expect(await send(receiver(fail))).toBe(500);
    expect(await redis.exists(key)).toBe(0);
    const late = receiver(async () => {
      await redis.set(key, "of another one");
      await fail();
    });
    expect(await send(late)).toBe(500);
    expect(await redis.get(key)).toBe("of another one");
  });

  test.each([
    ["no event", ["an", "array"], 400],
    ["no JSON", "{", 400],
    ["of a type nobody handles", { type: "email.opened" }, 200],
  ])("does not ask Redis about what is %s", async (_name, event, status) => {
    expect(await send(receiver(expect.unreachable), event)).toBe(status);
    expect(await redis.dbsize()).toBe(0);
  });

  test("rejects when Redis does", async () => {
    const client = new Redis(server.port, "127.0.0.1", { lazyConnect: true });
    onTestFinished(() => client.disconnect());
    client.disconnect();
    await expect(send(receiver(expect.unreachable, client))).rejects.toThrow("closed");
  });
});
