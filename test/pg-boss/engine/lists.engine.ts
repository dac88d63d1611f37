import { createIntake, createReceiver, memoryStore, type AnyEvent } from "@svc-webhooks/core";
import { eventBody, secret, signed } from "@svc-webhooks/kit/deliveries";
import {
  describeWithPostgres,
  postgresServer,
  type PostgresServer,
} from "@svc-webhooks/kit/postgres-server";
import { until } from "@svc-webhooks/kit/until";
import { untilAvailable } from "@svc-webhooks/kit/until-available";
import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest";
import { worldOf } from "./world.js";

const ids = ["1", "2", "3"];
const eventsOf = ({ list }: AnyEvent) =>
  (list as string[]).map((id) => ({ source: "list", id, type: "item", body: { id } }) as const);

describeWithPostgres("a list", () => {
  let server: PostgresServer;
  beforeAll(async () => {
    server = await postgresServer({});
  });
  afterAll(() => server?.close());

  test("is one job, whose next attempt runs only the events that failed", async () => {
    const runs: unknown[] = [];
    const items = createIntake({
      store: memoryStore(),
      sources: ["list"],
      log: () => {},
      on: {
        item({ id }) {
          runs.push(id);
          if (id === "2" && runs.length <= ids.length) throw new Error("not yet");
        },
      },
    });
    const each = items.each(eventsOf);
    const world = await worldOf(server, (event, context) => each(event as AnyEvent, context));
    expect((await world.send("a", { list: ids })).code).toBe("enqueued");
    expect(await world.inbox.admin.stats()).toMatchObject({ ready: 1 });
    await world.work();
    await until(() => runs.length === 4, "the event that failed runs again");
    expect(runs).toEqual([...ids, "2"]);
    await untilAvailable(async () => (await world.inbox.admin.stats()).active === 0, "it is done");
    expect(await world.inbox.admin.stats()).toMatchObject({ ready: 0, delayed: 0, dead: 0 });
  });

  test("stores each of its events as a job of its own", async () => {
    const runs: string[] = [];
    const { inbox, queue, store } = await worldOf(server, () => {});
    const items = createIntake({
      name: queue,
      store,
      sources: ["list"],
      log: () => {},
      on: { item: inbox(({ id }) => void runs.push(String(id))) },
    });
    const lists = createReceiver({
      secret,
      name: `${queue}-lists`,
      store,
      log: () => {},
      on: { "*": items.each(eventsOf) },
    });
    const body = eventBody("email.sent", { list: ids });
    expect((await lists.receive(await signed(body))).code).toBe("processed");
    expect(await inbox.admin.stats()).toMatchObject({ ready: ids.length });
    expect(runs).toEqual([]);
    const worker = await inbox.work(items);
    onTestFinished(() => worker.stop({ deadlineMs: 0 }));
    await until(() => runs.length === ids.length, "all events have run");
    expect(runs.toSorted()).toEqual(ids);
  });
});
