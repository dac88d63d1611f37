import { oneRedis } from "@svc-webhooks/kit/one-redis";
import { describeWithPostgres, postgresServer } from "@svc-webhooks/kit/postgres-server";
import { describeWithRedis } from "@svc-webhooks/kit/redis-server";
import { migrate, postgresStore } from "@svc-webhooks/postgres";
import { redisStore } from "@svc-webhooks/redis";
import type { Redis } from "ioredis";
import { Pool } from "pg";
import { beforeAll, expect, test } from "vitest";
import { watchedService } from "./watched-service.js";

const emails = 8;
/** An email is sent, and then delivered. */
const perDay = 2 * emails;
const inOrder = (ids: Iterable<string>) => [...ids].toSorted((a, b) => a.localeCompare(b));

describeWithRedis("with Redis", () => {
  let redis: Redis;
  oneRedis((client) => (redis = client));

  describeWithPostgres("and PostgreSQL", () => {
    let pool: Pool;
    beforeAll(async () => {
      const server = await postgresServer();
      pool = new Pool({ connectionString: server.connectionString });
      await migrate(pool);
      return async () => {
        await pool.end();
        await server.close();
      };
    });

    test.for([1, 5, perDay])(
      "a week in which the service loses %i deliveries is reported exactly, and repaired as far as possible",
      async (k) => {
        await pool.query("drop table if exists effects; create table effects (id text)");
        const { clock, subscribe, day, faultsLeft } = await watchedService();
        const store = postgresStore(pool);
        let isShaky = false;
        const billing = await subscribe(`billing ${k}`, store, (_event, context) =>
          store.transaction(context, async (tx) => {
            await tx.query("insert into effects values ($1)", [context.deliveryId]);
            if (isShaky && context.run === 1) throw new Error("The first run fails.");
          }),
        );
        const mailed = new Set<string>();
        const mailing = await subscribe("mailing", redisStore(redis), (_event, { deliveryId }) => {
          mailed.add(deliveryId);
        });

        const beginning = new Date(clock.now());
        // This loss is older than the week.
        await billing.fault("drop", 1);
        await day(emails);
        const since = new Date(clock.now());

        await billing.fault("drop", k);
        await mailing.fault("drop", 3);
        await day(emails);
        isShaky = true;
        await billing.fault("duplicate", 6);
        await billing.fault("response_lost", 6);
        await day(emails);
        isShaky = false;
        await billing.fault("reorder", 4);
        await day(emails);
        // Both deliveries of an email, in each of their five attempts.
        await billing.fault("mutate", 10);
        await day(1);
        await billing.fault("drop", 2, { result: "succeeded" });
        await day(emails);

        const week = 4 * perDay + 2;
        const first = await billing.reconcile(since);
        expect(first).toMatchObject({ sent: week, done: week - k - 4, reachedSince: true });
        expect(first).toMatchObject({ missingCount: k + 2, redelivered: k + 2, lostCount: 2 });
        const repaired = await billing.reconcile(since);
        expect(repaired).toMatchObject({ done: week - 2, missingCount: 0, lostCount: 2 });
        // The service believes that it has delivered them.
        expect(repaired.lost).toEqual(first.lost);
        for await (const { delivery_id, event_id } of billing.list()) {
          if (!first.lost.includes(delivery_id)) continue;
          await expect(billing.redeliver(event_id)).rejects.toMatchObject({ status: 409 });
        }

        const forgotten = inOrder(mailed);
        await redis.flushall();
        await billing.fault("drop", 3);
        await day(emails);
        const flushed = await mailing.reconcile(beginning);
        expect(inOrder(flushed.lost)).toEqual(forgotten);
        expect(flushed).toMatchObject({ done: perDay, missingCount: 3, redelivered: 3 });

        await billing.archive();
        const archivedAt = clock.now();
        await day(emails);
        const silent = await billing.reconcile(since);
        // An archived endpoint cannot be repaired, and no delivery to it is missing after that.
        expect(silent).toMatchObject({ sent: week + perDay, missingCount: 3, skipped: 3 });
        expect(Number(silent.newestSentAt)).toBeLessThan(archivedAt);
        const { newestSentAt } = await mailing.reconcile(since);
        expect(Number(newestSentAt)).toBeGreaterThanOrEqual(archivedAt);

        expect(await faultsLeft()).toBe(0);
        const { rows } = await pool.query<{ id: string }>("select id from effects");
        const effects = rows.map(({ id }) => id);
        expect(effects).toHaveLength(perDay - 1 + silent.done);
        expect(new Set(effects).size).toBe(effects.length);
        const open = new Set([...silent.lost, ...silent.missing]);
        expect(effects.filter((id) => open.has(id))).toEqual([]);
      },
    );
  });
});
