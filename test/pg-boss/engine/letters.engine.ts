import { memoryStore, PermanentError } from "@svc-webhooks/core";
import { gate } from "@svc-webhooks/kit/gate";
import {
  describeWithPostgres,
  postgresServer,
  type PostgresServer,
} from "@svc-webhooks/kit/postgres-server";
import { until } from "@svc-webhooks/kit/until";
import { untilAvailable } from "@svc-webhooks/kit/until-available";
import { afterAll, beforeAll, expect, test } from "vitest";
import { listed, worldOf, type World } from "./world.js";

const lettersOf = ({ inbox }: World) => listed(inbox.admin.list({ state: "dead" }));

describeWithPostgres("the dead letters of pg-boss", () => {
  let server: PostgresServer;
  beforeAll(async () => {
    server = await postgresServer({});
  });
  afterAll(() => server?.close());

  test.each(["continue", "hold"] as const)(
    "a frozen attempt that wakes leaves the letter of its successor: %s",
    async (afterDead) => {
      const frozen = gate();
      let runs = 0;
      const options = {
        retry: { limit: 1 },
        ...(afterDead === "hold" && { afterDead, partitionBy: () => "key" }),
      };
      const world = await worldOf(
        server,
        async () => {
          runs += 1;
          await frozen.opened;
          throw new Error("The frozen attempt failed.");
        },
        // The successor has a store of its own, as if the lease of the frozen attempt had ended.
        { ...options, receiver: { store: memoryStore() } },
      );
      await world.send("a");
      const worker = await world.work({ concurrency: 1 });
      await until(() => runs === 1, "the first attempt runs");
      const successor = await worldOf(server, () => {}, {
        ...options,
        queue: world.queue,
        receiver: { store: memoryStore() },
      });
      await successor.work();
      // pg-boss notices that nobody keeps the job.
      await until(async () => {
        await world.query(
          "update pgboss.job set heartbeat_on = heartbeat_on - interval '1 hour' where name = $1 and retry_count = 0",
          [world.queue],
        );
        return (await lettersOf(world)).length === 1;
      }, "the successor has made the letter");
      frozen.open();
      await worker.stop({ deadlineMs: 60_000 });
      const [letter, ...others] = await lettersOf(world);
      expect(others).toEqual([]);
      expect(letter?.error).toBe("The last attempt of this event left no result.");
      expect(await world.inbox.admin.retry(String(letter?.id))).toBe(true);
      await until(async () => (await lettersOf(world)).length === 0, "it is done");
    },
  );

  test("an event that has died twice at the same time has one letter, the newest", async () => {
    const world = await worldOf(server, () => {
      throw new PermanentError("poison");
    });
    await world.work({ concurrency: 2 });
    await world.send("a");
    await until(async () => (await lettersOf(world)).length === 1, "it is dead");
    const [letter] = await lettersOf(world);
    const other = crypto.randomUUID();
    // What a redelivery and an operator leave whose runs end at the same time.
    await world.query(
      `insert into pgboss.job select (jsonb_populate_record(job, jsonb_build_object('id', $2::text, 'created_on', now()))).*
        from pgboss.job where id = $1`,
      [letter?.id, other],
    );
    expect(await lettersOf(world)).toHaveLength(2);
    await world.send("b");
    await until(async () => {
      const ids = (await lettersOf(world)).map(({ id }) => id);
      return ids.length === 2 && !ids.includes(String(letter?.id)) && ids.includes(other);
    }, "the older letter is removed after the next death");
  });

  test("setup gives letters the retention of the options", async () => {
    const world = await worldOf(server, () => {
      throw new PermanentError("poison");
    });
    await world.work();
    await world.send("a");
    await until(async () => (await lettersOf(world)).length === 1, "it is dead");
    const days = async () =>
      (
        await world.query(
          "select extract(day from keep_until - created_on)::int as days from pgboss.job where name = $1",
          [`${world.queue}.dead`],
        )
      )[0]?.["days"];
    expect(await days()).toBe(365);
    await world.query(
      "update pgboss.job set keep_until = created_on + interval '14 days' where name = $1",
      [`${world.queue}.dead`],
    );
    expect(await world.inbox.check()).toEqual([
      expect.stringContaining(`Settings of 1 jobs in the queue "${world.queue}.dead" differ`),
    ]);
    expect(await world.inbox.setup()).toBe(true);
    expect([await days(), await world.inbox.check()]).toEqual([365, []]);
  });

  test("a list continues although others remove the letters after which it reads", async () => {
    const world = await worldOf(server, () => {
      throw new PermanentError("poison");
    });
    const worker = await world.work({ concurrency: 50 });
    for (let index = 0; index < 250; index += 1) await world.send(`a${index}`);
    await untilAvailable(
      async () => (await world.inbox.admin.stats()).dead === 250,
      "all are dead",
    );
    await worker.stop({ deadlineMs: 60_000 });
    const all = (await lettersOf(world)).map(({ id }) => id);
    const seen: string[] = [];
    const removed = all.slice(150, 200);
    for await (const { id } of world.inbox.admin.list({ state: "dead" })) {
      seen.push(id);
      // The second page ends with these.
      if (seen.length === 1)
        for (const one of removed) await world.inbox.admin.discard(one, "by another operator");
    }
    expect(new Set(seen).size).toBe(seen.length);
    expect(seen.filter((id) => !removed.includes(id))).toEqual(
      all.filter((id) => !removed.includes(id)),
    );
    const gone = world.inbox.admin.list({ state: "dead", after: removed[0] });
    await expect(listed(gone)).rejects.toMatchObject({
      code: "invalid_option",
      option: "query.after",
    });
  });
});
