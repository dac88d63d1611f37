import { describeWithPostgres } from "@svc-webhooks/kit/postgres-server";
import { withoutLimit } from "@svc-webhooks/kit/programs";
import { Progress } from "@svc-webhooks/kit/progress";
import { describeWithRedis } from "@svc-webhooks/kit/redis-server";
import { untilShown } from "@svc-webhooks/kit/until-shown";
import { describe, expect, test } from "vitest";
import { runChaos } from "./run.js";
import { runSandboxChaos } from "./sandbox/run.js";
import { crashing, struckQueue } from "./struck-queue.js";
import { postgresWorld, redisWorld, sqliteWorld } from "./world.js";

/** Mistakes that chaos must show: otherwise it proves nothing. */
describe("chaos", withoutLimit, () => {
  const load = { events: 1_000, lanes: 32 };

  describeWithRedis("with Redis", () => {
    test("loses events if copies in flight get 200", async ({ signal }) => {
      const { verdict } = await untilShown(
        async (seed) =>
          runChaos({ ...load, seed, signal, world: await redisWorld(), inFlight: 200 }),
        ({ verdict: { lost, early } }) => lost.length > 0 && early.length > 0,
      );
      expect(verdict.lost).not.toEqual([]);
    });
  });

  describeWithPostgres("with PostgreSQL", () => {
    test("applies events twice if the effects are outside of `transaction`", async ({ signal }) => {
      const { verdict } = await untilShown(
        async (seed) =>
          runChaos({ ...load, seed, signal, world: await postgresWorld({ inTransaction: false }) }),
        ({ effects, events }) => effects > events,
      );
      expect(verdict.lost).toEqual([]);
    });
  });

  test("applies events twice on SQLite if the effects are outside of it", async ({ signal }) => {
    const { verdict } = await untilShown(
      (seed) => runChaos({ ...load, seed, signal, world: sqliteWorld({ inTransaction: false }) }),
      ({ effects, events }) => effects > events,
    );
    expect(verdict.lost).toEqual([]);
  });

  describeWithRedis("with BullMQ", () => {
    describeWithPostgres("and PostgreSQL", () => {
      test("loses events if Redis does not persist them", async ({ signal }) => {
        const { verdict } = await untilShown(
          async (seed) => {
            const world = await postgresWorld({ inTransaction: true });
            const progress = new Progress();
            const volatile = ["--save", "", "--appendonly", "no"];
            const queue = struckQueue(await crashing(volatile), progress, 40);
            const atLeast = { crashes: 1 };
            return runChaos({ ...load, seed, signal, world, queue, progress, atLeast });
          },
          ({ verdict: { lost } }) => lost.length > 0,
        );
        expect(verdict.lost).not.toEqual([]);
      });
    });
  });

  test("loses sends of a sandbox that writes its file after the response", async ({ signal }) => {
    const { verdict } = await untilShown(
      (seed) => runSandboxChaos({ seed, kills: 10, writes: "later", signal }),
      ({ verdict: { lost } }) => lost.length > 0,
    );
    expect(verdict.lost).not.toEqual([]);
  });
});
